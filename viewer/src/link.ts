// The connection to the server: opened again when it breaks.
import { BinaryMessage, decode, Hello, say, TextMessage } from "./protocol";

export type LinkState = "connecting" | "open" | "lost" | "refused";

export interface LinkEvents {
  state(state: LinkState): void;
  text(message: TextMessage): void;
  binary(message: BinaryMessage): void;
}

/** Whether the server is there: it gives the page to everyone, frames only with its token. */
async function serverAnswers(): Promise<boolean> {
  try {
    return (await fetch("/", { cache: "no-store" })).ok;
  } catch {
    return false;
  }
}

export class Link {
  private socket?: WebSocket;
  private size = [1, 1, 1];
  private failures = 0;

  constructor(
    private readonly token: string,
    private readonly events: LinkEvents,
  ) {}

  open() {
    const url = `ws://${location.host}/live?token=${encodeURIComponent(this.token)}`;
    const socket = new WebSocket(url, "brim");
    let opened = false;
    this.socket = socket;
    socket.binaryType = "arraybuffer";
    socket.onopen = () => {
      opened = true;
      this.failures = 0;
      this.events.state("open");
    };
    socket.onmessage = (e) => this.receive(e.data);
    socket.onclose = async () => {
      if (!opened) this.failures++;
      const refused = !opened && (await serverAnswers());
      if (this.socket !== socket) return;
      this.events.state(refused ? "refused" : "lost");
      setTimeout(() => this.open(), Math.min(500 * 2 ** Math.min(this.failures, 3), 4000));
    };
  }

  /** False when it could not be sent. */
  send(line: string): boolean {
    if (this.socket?.readyState !== WebSocket.OPEN) return false;
    this.socket.send(line);
    return true;
  }

  /** Tells the server that a frame is on the screen, so that it may send the next. */
  shown(serial: number) {
    this.send(say.got(serial));
  }

  private receive(data: string | ArrayBuffer) {
    if (typeof data === "string") {
      const message = JSON.parse(data) as TextMessage;
      if (message.type === "hello") this.size = (message as Hello).size;
      this.events.text(message);
    } else {
      this.events.binary(decode(data, this.size));
    }
  }
}
