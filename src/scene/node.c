#include "scene/node.h"
#include "base/error.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>

Node *node_get(const Node *map, const char *key) {
    if (!map || map->kind != NODE_MAP) return NULL;
    for (Node *n = map->first; n; n = n->next)
        if (strcmp(n->key, key) == 0) return n;
    return NULL;
}

Node *node_item(const Node *list, int index) {
    if (!list || list->kind != NODE_LIST || index < 0) return NULL;
    Node *n = list->first;
    while (n && index-- > 0) n = n->next;
    return n;
}

bool node_is_nothing(const Node *node) {
    return node->kind == NODE_TEXT && node->plain &&
           (!*node->text || strcmp(node->text, "~") == 0 || strcmp(node->text, "null") == 0);
}

const char *node_show(const char *text, char out[NODE_SHOW]) {
    size_t n = 0;
    for (; text[n] && n < NODE_SHOW - 4; n++) {
        unsigned char c = (unsigned char)text[n];
        out[n] = c < ' ' || c == 127 ? '?' : (char)c;
    }
    if (text[n]) {
        while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80) n--;
        memcpy(out + n, "...", 3);
        n += 3;
    }
    out[n] = 0;
    return out;
}

void node_append(Node *parent, Node *child) {
    *(parent->last ? &parent->last->next : &parent->first) = child;
    parent->last = child;
    parent->count++;
}

void node_remove(Node *map, const char *key) {
    Node *before = NULL;
    for (Node *n = map->first; n; before = n, n = n->next) {
        if (strcmp(n->key, key) != 0) continue;
        *(before ? &before->next : &map->first) = n->next;
        if (map->last == n) map->last = before;
        map->count--;
        return;
    }
}

/// Takes the next part off a path: a key (copied to `key`) or an index (*index >= 0, key "").
/// False at the end of the path and, with *path not at its end, where it is not well formed.
static bool path_next(const char **path, char key[NODE_WORD_BYTES], int *index) {
    const char *p = *path;
    *index = -1;
    key[0] = 0;
    if (*p == '[') {
        long value = 0;
        const char *digits = ++p;
        while (*p >= '0' && *p <= '9' && value < INT_MAX / 10) value = 10 * value + (*p++ - '0');
        if (p == digits || *p != ']') return false;
        *index = (int)value;
        p++;
    } else {
        size_t length = strcspn(p, ".[");
        if (length == 0 || length >= NODE_WORD_BYTES) return false;
        memcpy(key, p, length);
        key[length] = 0;
        p += length;
    }
    if (*p == '.' && p[1] && p[1] != '[' && p[1] != '.')
        p++;
    else if (*p && *p != '[')
        return false;
    *path = p;
    return true;
}

/// Follows a path as far as it exists; *whole says whether that is to its end.
static Node *follow(Node *root, const char *path, bool *whole) {
    char key[NODE_WORD_BYTES];
    int index;
    Node *node = root;
    *whole = false;
    while (*path) {
        if (!path_next(&path, key, &index)) return node;
        Node *next = index >= 0 ? node_item(node, index) : node_get(node, key);
        if (!next) return node;
        node = next;
    }
    *whole = true;
    return node;
}

Node *node_at(Node *root, const char *path) {
    bool whole;
    Node *node = follow(root, path, &whole);
    return whole ? node : NULL;
}

Node *node_nearest(Node *root, const char *path) {
    bool whole;
    return follow(root, path, &whole);
}

static Node *add_key(Pool *pool, Node *map, const char *key, const char *set) {
    Node *node = pool_new(pool, 1, sizeof *node);
    if (!node) return NULL;
    *node = (Node){.plain = true, .set = set, .text = "", .line = 1};
    node->key = pool_text(pool, key, strlen(key));
    if (!node->key) return NULL;
    node_append(map, node);
    return node;
}

/// The child to go on with, made when it is a key that is not there yet.
static BrimResult step_into(Pool *pool, Node **node, const char *key, int index, const char *set,
                            BrimError *error) {
    Node *parent = *node;
    char shown[NODE_SHOW];
    node_show(set, shown);
    if (index >= 0) {
        *node = node_item(parent, index);
        if (*node) return BRIM_OK;
        if (parent->kind != NODE_LIST)
            return fail(error, BRIM_ERROR_INPUT, "--set %s: [%d]: there is no list here", shown,
                        index);
        return fail(error, BRIM_ERROR_INPUT,
                    "--set %s: [%d]: the list has %d items, counted from 0", shown, index,
                    parent->count);
    }
    if (node_is_nothing(parent)) parent->kind = NODE_MAP;
    if (parent->kind != NODE_MAP)
        return fail(error, BRIM_ERROR_INPUT,
                    "--set %s: %.60s: what comes before it is not a group of keys in this scene",
                    shown, key);
    *node = node_get(parent, key);
    if (!*node) *node = add_key(pool, parent, key, set);
    return *node ? BRIM_OK
                 : fail(error, BRIM_ERROR_MEMORY, "out of memory reading --set %s", shown);
}

BrimResult node_set(Pool *pool, Node *root, const char *set, BrimError *error) {
    const char *equals = strchr(set, '=');
    char path[NODE_WORD_BYTES], key[NODE_WORD_BYTES];
    size_t length = equals ? (size_t)(equals - set) : 0;
    if (!equals || length == 0 || length >= sizeof path)
        return fail(error, BRIM_ERROR_INPUT, "--set %.200s: write key=value, as in time.step=0.002",
                    set);
    memcpy(path, set, length);
    path[length] = 0;

    char name[128];
    snprintf(name, sizeof name, "--set %.100s", set);
    Node *value = NULL, *node = root;
    BrimResult result = node_parse(pool, equals + 1, strlen(equals + 1), name, set, &value, error);
    if (result != BRIM_OK) return result;

    const char *at = path;
    int index, parts = 0;
    while (*at) {
        if (!path_next(&at, key, &index) || parts++ == NODE_DEPTH)
            return fail(error, BRIM_ERROR_INPUT,
                        "--set %.200s: write a key such as solver.tolerance or solids[0].rate",
                        set);
        result = step_into(pool, &node, key, index, set, error);
        if (result != BRIM_OK) return result;
    }
    Node *next = node->next;
    const char *own_key = node->key;
    *node = *value;
    node->next = next;
    node->key = own_key;
    return BRIM_OK;
}
