// The text of a scene as a tree: maps, lists and words, each with the place it came from.
// Only yaml.c knows how the text was written.
#pragma once
#include "brim/brim.h"
#include "scene/pool.h"

typedef enum NodeKind { NODE_TEXT, NODE_LIST, NODE_MAP } NodeKind;

typedef struct Node {
    NodeKind kind;
    bool plain;       ///< text without quotes: may be a number, true, false or nothing
    int line;         ///< from 1; of the key where the node has one
    int count;        ///< of children
    const char *set;  ///< the "key=value" that the node came from; NULL = the file
    const char *key;  ///< in a map
    const char *text; ///< NODE_TEXT
    struct Node *first, *last, *next;
} Node;

// What a scene may ask for at most, so that a hostile one ends in a message.
enum {
    NODE_TEXT_BYTES = 16 << 20, ///< of a whole scene
    NODE_WORD_BYTES = 4096,     ///< of a key or value
    NODE_COUNT = 1 << 20,
    NODE_DEPTH = 32,
    NODE_KEYS = 256, ///< of a map
};

/// Text => tree. `name` is the file, or "--set key=value" with `set` not NULL, for messages.
/// BRIM_ERROR_MISSING when this build has no libyaml.
BrimResult node_parse(Pool *pool, const char *text, size_t length, const char *name,
                      const char *set, Node **root, BrimError *error);

/// The value of a key; NULL when there is none or `map` is not a map.
Node *node_get(const Node *map, const char *key);
/// The item of a list; NULL when there is none.
Node *node_item(const Node *list, int index);
/// The node at "solids[0].box.size"; NULL when there is none.
Node *node_at(Node *root, const char *path);
/// The same, or the innermost one on the way to it that exists.
Node *node_nearest(Node *root, const char *path);
/// Whether a value was left empty: `key:`, `null` or `~`.
bool node_is_nothing(const Node *node);
enum { NODE_SHOW = 64 };
/// Text as a message may show it: without control characters, cut where it is long.
const char *node_show(const char *text, char out[NODE_SHOW]);
void node_append(Node *parent, Node *child);
void node_remove(Node *map, const char *key);

/// Puts the value of "key=value" into the tree, over what is there.
BrimResult node_set(Pool *pool, Node *root, const char *set, BrimError *error);
