// What viewers send: one line of text a message, the only way in from the network.
#pragma once
#include <brim/brim.h>

typedef enum MessageKind {
    MESSAGE_PLAY,
    MESSAGE_PAUSE,
    MESSAGE_STEP,    ///< one step, or one frame of a recording
    MESSAGE_RESTART, ///< from the start again
    MESSAGE_SPEED,   ///< number: simulated seconds a second; 0 = as fast as it goes
    MESSAGE_SEEK,    ///< number: frame of a recording
    MESSAGE_STEER,   ///< takes the wheel
    MESSAGE_SHOW,    ///< number: value of particles, -1 the surface
    MESSAGE_GOT,     ///< number: serial of a frame that has come
    MESSAGE_EVENT,   ///< something done to the water
} MessageKind;

typedef struct Message {
    MessageKind kind;
    double number;
    BrimEvent event;
} Message;

enum { MESSAGE_LONGEST = 512 };

/// Reads a message; `text` need not end with a zero. False: it is none, and nothing is to be done.
bool message_parse(const char *text, size_t length, Message *message);
/// Whether only the one who steers may send it.
bool message_steers(const Message *message);
