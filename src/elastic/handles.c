#include "elastic/handles.h"
#include "base/error.h"
#include "base/memory.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

void handles_free(Handles *h) {
    free(h->node);
    free(h->weight);
    *h = (Handles){0};
}

// ----------------------------------------------------------------------- distance along edges

/// Nodes are joined by all edges within an element. Which elements a node belongs to: at
/// element[start[n]] and on.
typedef struct Graph {
    const Lattice *l;
    int32_t *start, *element;
    int32_t *heap, *place; ///< nodes by distance; where a node is in it, -1: nowhere
    int heap_count;
    double *distance; ///< [nodes] of the walk at hand
} Graph;

static void graph_free(Graph *g) {
    free(g->start), free(g->element), free(g->heap), free(g->place), free(g->distance);
}

static bool graph_new(const Lattice *l, Graph *g) {
    size_t nodes = (size_t)l->node_count, all = (size_t)(l->element_count * l->per_element);
    *g = (Graph){.l = l};
    g->start = memory_zero((nodes + 2) * sizeof *g->start);
    g->element = memory_new((all + 1) * sizeof *g->element);
    g->heap = memory_new((nodes + 1) * sizeof *g->heap);
    g->place = memory_new((nodes + 1) * sizeof *g->place);
    g->distance = memory_new((nodes + 1) * sizeof *g->distance);
    if (!g->start || !g->element || !g->heap || !g->place || !g->distance) return false;
    for (size_t i = 0; i < all; i++) g->start[l->node[i] + 2]++;
    for (size_t i = 2; i < nodes + 2; i++) g->start[i] += g->start[i - 1];
    for (size_t i = 0; i < all; i++)
        g->element[g->start[l->node[i] + 1]++] = (int32_t)(i / (size_t)l->per_element);
    for (size_t i = 0; i < nodes; i++) g->place[i] = -1;
    return true;
}

/// Nearer first; of equals the lower number, so that the answer is unique.
static bool before(const Graph *g, int32_t a, int32_t b) {
    return g->distance[a] < g->distance[b] || (g->distance[a] == g->distance[b] && a < b);
}

static void put_at(Graph *g, int at, int32_t node) {
    g->heap[at] = node, g->place[node] = at;
}

static void rise(Graph *g, int at) {
    int32_t node = g->heap[at];
    while (at > 0 && before(g, node, g->heap[(at - 1) / 2])) {
        put_at(g, at, g->heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    put_at(g, at, node);
}

static int32_t take_nearest(Graph *g) {
    int32_t first = g->heap[0], node = g->heap[--g->heap_count];
    int at = 0;
    g->place[first] = -1;
    if (g->heap_count == 0) return first;
    for (int next = 1; next < g->heap_count; next = 2 * at + 1) {
        if (next + 1 < g->heap_count && before(g, g->heap[next + 1], g->heap[next])) next++;
        if (!before(g, g->heap[next], node)) break;
        put_at(g, at, g->heap[next]);
        at = next;
    }
    put_at(g, at, node);
    return first;
}

static void offer(Graph *g, int32_t node, double distance) {
    if (!(distance < g->distance[node])) return;
    g->distance[node] = distance;
    if (g->place[node] < 0) put_at(g, g->heap_count++, node);
    rise(g, g->place[node]);
}

static double edge_length(const Lattice *l, int32_t a, int32_t b) {
    double sum = 0;
    for (int k = 0; k < l->dim; k++) {
        double d = l->place[a][k] - l->place[b][k];
        sum += d * d;
    }
    return sqrt(sum);
}

/// Dijkstra's walk from a node, as far as `most`: g->distance where it is shorter than before.
static void walk(Graph *g, int32_t from, double most) {
    const Lattice *l = g->l;
    g->heap_count = 0;
    offer(g, from, 0);
    while (g->heap_count > 0) {
        int32_t node = take_nearest(g);
        for (int k = g->start[node]; k < g->start[node + 1]; k++)
            for (int n = 0; n < l->per_element; n++) {
                int32_t next = l->node[g->element[k] * l->per_element + n];
                double d = g->distance[node] + edge_length(l, node, next);
                if (d <= most) offer(g, next, d);
            }
    }
}

static void forget(Graph *g) {
    for (int i = 0; i < g->l->node_count; i++) g->distance[i] = INFINITY;
}

// --------------------------------------------------------------------------------------- handles

/// The node farthest from the mean of all.
static int32_t outermost(const Lattice *l) {
    double mean[3] = {0}, most = -1;
    int32_t best = 0;
    for (int i = 0; i < l->node_count; i++)
        for (int a = 0; a < l->dim; a++) mean[a] += l->place[i][a] / l->node_count;
    for (int i = 0; i < l->node_count; i++) {
        double sum = 0;
        for (int a = 0; a < l->dim; a++)
            sum += (l->place[i][a] - mean[a]) * (l->place[i][a] - mean[a]);
        if (sum > most) most = sum, best = i;
    }
    return best;
}

/// Each handle is the node farthest from those before it. => the largest distance that is left;
/// parts of a body that nothing joins to the rest come first.
static double choose(Graph *g, int wanted, Handles *h) {
    const Lattice *l = g->l;
    double farthest = 0;
    forget(g);
    int32_t next = outermost(l);
    for (h->count = 0; h->count < wanted;) {
        h->node[h->count++] = next;
        walk(g, next, INFINITY);
        farthest = 0;
        for (int i = 0; i < l->node_count; i++)
            if (g->distance[i] > farthest) farthest = g->distance[i], next = i;
        if (farthest == 0) break;
    }
    return farthest;
}

static void weigh(Graph *g, Handles *h) {
    int nodes = g->l->node_count, n = h->count;
    for (int k = 0; k < n; k++) {
        forget(g);
        walk(g, h->node[k], h->radius);
        for (int i = 0; i < nodes; i++) {
            double x = g->distance[i] / h->radius, y = x < 1 ? 1 - x * x : 0;
            h->weight[(size_t)i * (size_t)n + (size_t)k] = y * y;
        }
    }
    for (int i = 0; i < nodes; i++) {
        double *row = h->weight + (size_t)i * (size_t)n, sum = 0;
        for (int k = 0; k < n; k++) sum += row[k];
        for (int k = 0; k < n; k++) row[k] /= sum;
    }
}

BrimResult handles_new(const Lattice *l, int wanted, double factor, Handles *h, BrimError *error) {
    Graph g = {0};
    BrimResult result = BRIM_OK;
    *h = (Handles){0};
    if (wanted > l->node_count) wanted = l->node_count;
    h->node = memory_new((size_t)wanted * sizeof *h->node);
    if (!h->node || !graph_new(l, &g))
        result = fail(error, BRIM_ERROR_MEMORY, "no memory for an elastic body's handles");
    if (result == BRIM_OK) {
        double farthest = choose(&g, wanted, h);
        if (!isfinite(farthest))
            result = fail(error, BRIM_ERROR_INPUT,
                          "an elastic body is in more pieces than its %d handles: make it one "
                          "piece, or give it more handles",
                          wanted);
        // a handle at every node: each has its own
        h->radius = farthest > 0 ? factor * farthest : 1e-9;
        h->weight = memory_new((size_t)l->node_count * (size_t)h->count * sizeof *h->weight);
        if (result == BRIM_OK && !h->weight)
            result = fail(error, BRIM_ERROR_MEMORY, "no memory for an elastic body's handles");
    }
    if (result == BRIM_OK) weigh(&g, h);
    graph_free(&g);
    if (result != BRIM_OK) handles_free(h);
    return result;
}

int handle_functions(int dim, int order) {
    int affine = 1 + dim;
    return order == 2 ? affine + dim * (dim + 1) / 2 : affine;
}

void handle_columns(const Lattice *l, const Handles *h, int k, int order, double *columns) {
    size_t nodes = (size_t)l->node_count;
    const double *centre = l->place[h->node[k]];
    for (size_t i = 0; i < nodes; i++) {
        double w = h->weight[i * (size_t)h->count + (size_t)k], x[3] = {0};
        size_t column = 0;
        columns[nodes * column++ + i] = w;
        for (int a = 0; a < l->dim; a++) {
            x[a] = (l->place[i][a] - centre[a]) / h->radius;
            columns[nodes * column++ + i] = w * x[a];
        }
        for (int a = 0; a < l->dim && order == 2; a++)
            for (int b = a; b < l->dim; b++) columns[nodes * column++ + i] = w * x[a] * x[b];
    }
}
