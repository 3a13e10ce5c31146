#include "live/hub.h"
#include <string.h>
#include <time.h>

void hub_init(Hub *h) {
    pthread_condattr_t attributes;
    *h = (Hub){0};
    pthread_mutex_init(&h->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&h->wake, &attributes);
    pthread_condattr_destroy(&attributes);
}

void hub_free(Hub *h) {
    for (int i = 0; i < SLOTS; i++) parcel_drop(&h->slot[i]);
    pthread_cond_destroy(&h->wake);
    pthread_mutex_destroy(&h->lock);
}

void hub_publish(Hub *h, int slot, Parcel *parcel) {
    if (!parcel) return; // out of memory: viewers keep what they have
    pthread_mutex_lock(&h->lock);
    Parcel *before = h->slot[slot];
    parcel->serial = ++h->serial;
    if (!parcel->text) memcpy(parcel->bytes + 8, &parcel->serial, sizeof parcel->serial);
    h->slot[slot] = parcel;
    void (*ring)(void *) = h->viewers > 0 ? h->ring : NULL;
    pthread_mutex_unlock(&h->lock);
    parcel_drop(&before);
    if (ring) ring(h->context);
}

int hub_receive(Hub *h, double seconds, Message *messages, uint32_t *wanted) {
    pthread_mutex_lock(&h->lock);
    if (seconds > 0 && !h->queued && !h->wanted && !h->stop) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        long nanoseconds = until.tv_nsec + (long)((seconds - (double)(long)seconds) * 1e9);
        until.tv_sec += (time_t)seconds + nanoseconds / 1000000000;
        until.tv_nsec = nanoseconds % 1000000000;
        pthread_cond_timedwait(&h->wake, &h->lock, &until);
    }
    int count = h->queued;
    memcpy(messages, h->queue, (size_t)count * sizeof *messages);
    h->queued = 0;
    *wanted |= h->wanted;
    h->wanted = 0;
    pthread_mutex_unlock(&h->lock);
    return count;
}

bool hub_has(Hub *h, int slot) {
    pthread_mutex_lock(&h->lock);
    bool has = h->slot[slot] != NULL;
    pthread_mutex_unlock(&h->lock);
    return has;
}

void hub_end(Hub *h) {
    h->ended = true;
    pthread_mutex_lock(&h->lock);
    if (h->ring) h->ring(h->context);
    pthread_mutex_unlock(&h->lock);
}

Parcel *hub_newest(Hub *h, int slot, uint32_t after) {
    pthread_mutex_lock(&h->lock);
    Parcel *p = h->slot[slot];
    p = p && p->serial > after ? parcel_hold(p) : NULL;
    pthread_mutex_unlock(&h->lock);
    return p;
}

void hub_want(Hub *h, int slot, bool anew) {
    Parcel *stale = NULL;
    pthread_mutex_lock(&h->lock);
    if (anew) stale = h->slot[slot], h->slot[slot] = NULL;
    if (!(h->wanted >> slot & 1)) {
        h->wanted |= 1u << slot;
        pthread_cond_signal(&h->wake);
    }
    pthread_mutex_unlock(&h->lock);
    parcel_drop(&stale);
}

bool hub_send(Hub *h, const Message *message) {
    pthread_mutex_lock(&h->lock);
    bool room = h->queued < (int)(sizeof h->queue / sizeof *h->queue);
    if (room) h->queue[h->queued++] = *message;
    pthread_cond_signal(&h->wake);
    pthread_mutex_unlock(&h->lock);
    return room;
}

void hub_viewers(Hub *h, int count) {
    pthread_mutex_lock(&h->lock);
    h->viewers = count;
    pthread_mutex_unlock(&h->lock);
}

void hub_stop(Hub *h) {
    pthread_mutex_lock(&h->lock);
    h->stop = true;
    pthread_cond_signal(&h->wake);
    pthread_mutex_unlock(&h->lock);
}
