"""Brim in the background: started, watched and stopped."""
import json
import queue
import signal
import subprocess
import threading


class Bake:
    """One run. poll() now and then; what it says is in `state`, `frame`, `frames` and `message`."""

    def __init__(self, program, scene, folder, threads=0):
        self.folder = folder
        self.frame, self.frames = -1, 0
        self.state = "running"  # then: done, cancelled, failed
        self.message = ""
        self.lines = queue.Queue()
        self.errors = []
        self.process = subprocess.Popen(
            [program, "run", scene, "-o", folder, "--json", "--overwrite", "--threads", str(threads)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
        self.readers = [threading.Thread(target=self.read, args=(self.process.stdout, self.lines.put), daemon=True),
                        threading.Thread(target=self.read, args=(self.process.stderr, self.errors.append),
                                         daemon=True)]
        for reader in self.readers:
            reader.start()

    @staticmethod
    def read(stream, put):
        for line in stream:
            put(line)

    def poll(self):
        """Takes in what the run has said. Whether there are new frames."""
        before = self.frame
        code = self.process.poll()
        if code is not None:
            for reader in self.readers:
                reader.join()
        while not self.lines.empty():
            self.take(self.lines.get())
        if code is not None and self.state == "running":
            self.state = "done" if code == 0 else "cancelled" if code in (130, 143) else "failed"
            if self.state == "failed" and not self.message:
                self.message = "".join(self.errors).strip() or "brim ended with code %d" % code
        return self.frame > before

    def take(self, line):
        try:
            event = json.loads(line)
        except ValueError:
            return
        kind = event.get("event")
        if kind in ("start", "frame"):
            self.frame = event.get("frame", self.frame)
            self.frames = event.get("frames", self.frames)
        elif kind == "error":
            self.message = event.get("message", "")

    def cancel(self):
        """The step is finished and a checkpoint written, as at Ctrl-C."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)

    def wait(self):
        self.process.wait()
        self.poll()
