// Where the thread that simulates, or plays a recording, meets the one that serves viewers. Neither
// waits for the other: there is one place for the newest message of each kind, and a queue of
// bounded length for what viewers ask.
#pragma once
#include "live/frame.h"
#include "live/message.h"
#include <pthread.h>

enum {
    SLOT_HELLO,    ///< text: what there is to see
    SLOT_GEOMETRY, ///< solids and bodies
    SLOT_STATUS,   ///< text: running or not, speed
    SLOT_HISTORY,  ///< text: statistics so far
    SLOT_STATS,    ///< text: those of the last step
    SLOT_NOTICE,   ///< text: what went wrong
    SLOT_SURFACE,  ///< frames: the first kind that viewers choose from
    SLOT_VALUE,    ///< frames: particles with their first value, then the others
    SLOTS = SLOT_VALUE + VALUES_MOST,
};

typedef struct Hub {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    Parcel *slot[SLOTS];
    uint32_t serial;
    uint32_t wanted; ///< bits of frame slots that a viewer waits for
    Message queue[256];
    int queued;
    atomic_int viewers;
    atomic_bool stop, ended;     ///< asked to end; the thread that simulates is through
    void (*ring)(void *context); ///< wakes the thread that serves
    void *context;
} Hub;

void hub_init(Hub *hub);
void hub_free(Hub *hub);

/// For the thread that simulates: hands a message on, which is the hub's from now on.
void hub_publish(Hub *hub, int slot, Parcel *parcel);
/// Takes what viewers sent => messages [256], and adds the frames that they wait for to `wanted`.
/// Waits for either, at most so many seconds. Returns the number of messages.
int hub_receive(Hub *hub, double seconds, Message *messages, uint32_t *wanted);

/// Whether there is a message of a kind, however old.
bool hub_has(Hub *hub, int slot);
/// The last thing that the thread that simulates does.
void hub_end(Hub *hub);

/// For the thread that serves: the newest of a kind when it is newer than `after`; to be dropped.
Parcel *hub_newest(Hub *hub, int slot, uint32_t after);
/// A viewer could take a frame of this slot. `anew`: none that is there already.
void hub_want(Hub *hub, int slot, bool anew);
/// False when too much is waiting.
bool hub_send(Hub *hub, const Message *message);
void hub_viewers(Hub *hub, int count);
/// Asks the other thread to end.
void hub_stop(Hub *hub);
