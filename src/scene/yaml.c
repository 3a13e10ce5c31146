// YAML (so JSON too) => nodes. The one file that knows libyaml.
#include "base/error.h"
#include "scene/node.h"
#include <string.h>

#ifndef BRIM_HAVE_YAML

BrimResult node_parse(Pool *pool, const char *text, size_t length, const char *name,
                      const char *set, Node **root, BrimError *error) {
    (void)pool, (void)text, (void)length, (void)set;
    *root = NULL;
    return fail(error, BRIM_ERROR_MISSING,
                "%s: this build cannot read scenes: install libyaml (Debian: libyaml-dev, "
                "Fedora: libyaml-devel, macOS: libyaml) and build again",
                name);
}

#else

#include <yaml.h>

typedef struct Parse {
    yaml_parser_t *parser;
    Pool *pool;
    const char *name, *set;
    BrimError *error;
    int nodes;
    Node *stack[NODE_DEPTH]; ///< the maps and lists that are open
    int depth;
    const char *key; ///< read, and waiting for its value
    int key_line;
    Node *root;
} Parse;

/// "dam.yaml:3: message", or "--set key=value: message".
static BrimResult refuse(Parse *p, size_t line, const char *what, const char *word) {
    char shown[NODE_SHOW];
    node_show(word, shown);
    if (p->set) return fail(p->error, BRIM_ERROR_INPUT, "%s: %s%s", p->name, what, shown);
    return fail(p->error, BRIM_ERROR_INPUT, "%s:%zu: %s%s", p->name, line + 1, what, shown);
}

static BrimResult no_memory(Parse *p) {
    return fail(p->error, BRIM_ERROR_MEMORY, "%s: out of memory reading the scene", p->name);
}

static BrimResult refuse_syntax(Parse *p) {
    const yaml_parser_t *y = p->parser;
    if (y->error == YAML_MEMORY_ERROR) return no_memory(p);
    return refuse(p, y->problem_mark.line, "not valid YAML: ", y->problem ? y->problem : "");
}

/// Takes a scalar as the key of the map that is open.
static BrimResult take_key(Parse *p, const yaml_event_t *event) {
    const char *text = (const char *)event->data.scalar.value;
    size_t line = event->start_mark.line;
    Node *map = p->stack[p->depth - 1];
    if (event->data.scalar.length > NODE_WORD_BYTES || memchr(text, 0, event->data.scalar.length))
        return refuse(p, line, "a key is too long", "");
    if (node_get(map, text)) return refuse(p, line, "this key appears twice: ", text);
    if (map->count == NODE_KEYS) return refuse(p, line, "too many keys in one map", "");
    p->key = pool_text(p->pool, text, event->data.scalar.length);
    p->key_line = (int)line + 1;
    return p->key ? BRIM_OK : no_memory(p);
}

/// A new node, hung where the text stands; *node is also opened when it is a map or list.
static BrimResult add_node(Parse *p, NodeKind kind, const yaml_event_t *event, Node **out) {
    size_t line = event->start_mark.line;
    if (p->nodes++ == NODE_COUNT) return refuse(p, line, "the scene has too many values", "");
    if (kind != NODE_TEXT && p->depth == NODE_DEPTH)
        return refuse(p, line, "maps and lists are nested too deeply", "");
    Node *node = *out = pool_new(p->pool, 1, sizeof *node);
    if (!node) return no_memory(p);
    *node = (Node){.kind = kind, .line = (int)line + 1, .set = p->set, .text = ""};
    if (p->key) {
        node->key = p->key;
        node->line = p->key_line;
        p->key = NULL;
    }
    if (p->depth > 0)
        node_append(p->stack[p->depth - 1], node);
    else
        p->root = node;
    if (kind != NODE_TEXT) p->stack[p->depth++] = node;
    return BRIM_OK;
}

static bool wants_key(const Parse *p) {
    return p->depth > 0 && p->stack[p->depth - 1]->kind == NODE_MAP && !p->key;
}

static BrimResult take_scalar(Parse *p, const yaml_event_t *event) {
    if (wants_key(p)) return take_key(p, event);
    const char *text = (const char *)event->data.scalar.value;
    size_t length = event->data.scalar.length;
    if (length > NODE_WORD_BYTES || memchr(text, 0, length))
        return refuse(p, event->start_mark.line, "a value is too long", "");
    Node *node;
    BrimResult result = add_node(p, NODE_TEXT, event, &node);
    if (result != BRIM_OK) return result;
    node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    node->text = pool_text(p->pool, text, length);
    return node->text ? BRIM_OK : no_memory(p);
}

static BrimResult take_open(Parse *p, NodeKind kind, const yaml_event_t *event) {
    if (wants_key(p))
        return refuse(p, event->start_mark.line, "a key must be a word, not a map or list", "");
    Node *node;
    return add_node(p, kind, event, &node);
}

static BrimResult take_event(Parse *p, const yaml_event_t *event) {
    size_t line = event->start_mark.line;
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        return p->root ? refuse(p, line, "a second document (---): a file holds one scene", "")
                       : BRIM_OK;
    case YAML_ALIAS_EVENT:
        return refuse(p, line, "anchors and aliases (& and *) are not supported", "");
    case YAML_SCALAR_EVENT:
        if (event->data.scalar.anchor)
            return refuse(p, line, "anchors and aliases (& and *) are not supported", "");
        if (event->data.scalar.tag) return refuse(p, line, "tags (!) are not supported", "");
        return take_scalar(p, event);
    case YAML_SEQUENCE_START_EVENT:
        if (event->data.sequence_start.anchor)
            return refuse(p, line, "anchors and aliases (& and *) are not supported", "");
        if (event->data.sequence_start.tag)
            return refuse(p, line, "tags (!) are not supported", "");
        return take_open(p, NODE_LIST, event);
    case YAML_MAPPING_START_EVENT:
        if (event->data.mapping_start.anchor)
            return refuse(p, line, "anchors and aliases (& and *) are not supported", "");
        if (event->data.mapping_start.tag) return refuse(p, line, "tags (!) are not supported", "");
        return take_open(p, NODE_MAP, event);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        p->depth--;
        return BRIM_OK;
    default:
        return BRIM_OK;
    }
}

static BrimResult take_all(Parse *p) {
    for (;;) {
        yaml_event_t event;
        if (!yaml_parser_parse(p->parser, &event)) return refuse_syntax(p);
        bool end = event.type == YAML_STREAM_END_EVENT;
        BrimResult result = take_event(p, &event);
        yaml_event_delete(&event);
        if (end || result != BRIM_OK) return result;
    }
}

BrimResult node_parse(Pool *pool, const char *text, size_t length, const char *name,
                      const char *set, Node **root, BrimError *error) {
    *root = NULL;
    yaml_parser_t parser;
    Parse p = {.parser = &parser, .pool = pool, .name = name, .set = set, .error = error};
    if (length > NODE_TEXT_BYTES)
        return refuse(&p, 0, "the scene is larger than 16 MiB: it is not a scene file", "");
    if (!yaml_parser_initialize(&parser)) return no_memory(&p);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, length);
    BrimResult result = take_all(&p);
    yaml_parser_delete(&parser);
    if (result != BRIM_OK) return result;
    if (!p.root) {
        if (!set) return refuse(&p, 0, "the scene is empty: it begins with \"brim: 1\"", "");
        p.root = pool_new(pool, 1, sizeof *p.root);
        if (!p.root) return no_memory(&p);
        *p.root = (Node){.plain = true, .text = "", .set = set, .line = 1};
    }
    *root = p.root;
    return BRIM_OK;
}

#endif
