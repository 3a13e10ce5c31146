// Joins the connection, the picture and the controls.
import { show } from "./colour";
import { Link } from "./link";
import { Flow, Pace } from "./pace";
import { Panel } from "./panel";
import {
  BinaryMessage,
  Hello,
  ParticleFrame,
  say,
  Status,
  SurfaceFrame,
  TextMessage,
} from "./protocol";
import { Look, Stage } from "./stage";
import { Touch } from "./touch";
import "./viewer.css";

type Frame = ParticleFrame | SurfaceFrame;

const app = document.getElementById("app")!;
let hello: Hello | undefined;
let status: Status | undefined;
let frame: Frame | undefined; // on the screen
let value = 0; // by which particles are coloured
let dirty = true;
let film: MediaRecorder | undefined;
const pace = new Pace();
const flow = new Flow();

const panel = new Panel(app, {
  play: () => link.send(status?.playing ? say.pause() : say.play()),
  step: () => link.send(say.step()),
  restart: () => link.send(say.restart()),
  speed: (x) => link.send(say.speed(x)),
  seek: (n) => link.send(say.seek(n)),
  look: (look) => choose(look, value),
  value: (index) => choose("particles", index),
  tool: (tool) => (touch.tool = tool),
  set: (key, values) => link.send(say.set(key, values)),
  steer: () => link.send(say.steer()),
  picture: savePicture,
  film: toggleFilm,
  home: () => {
    if (hello) stage.aim(hello);
    dirty = true;
  },
});
const stage = await Stage.create(panel.canvas);
const touch = new Touch(stage, (line) => link.send(line));
const link = new Link(location.hash.slice(1), { state: onState, text: onText, binary: onBinary });

function choose(look: Look, index: number) {
  if (look === "surface" && !hello?.surface) look = "water";
  const stream = (l: Look, v: number) => (l === "surface" ? -1 : l === "water" ? 0 : v);
  const changed = stream(look, index) !== stream(stage.look, value);
  stage.look = look;
  value = index;
  if (changed) link.send(say.show(stream(look, index)));
  panel.setLook(look, index);
  if (frame?.kind === "particles") panel.showLegend(look, frame.value, frame.low, frame.high);
  else panel.showLegend(look, index, 0, 0);
  dirty = true;
}

function onState(state: string) {
  panel.state(state);
  if (state !== "open") return;
  const stream = stage.look === "surface" ? -1 : stage.look === "water" ? 0 : value;
  if (stream !== 0) link.send(say.show(stream));
}

function onText(message: TextMessage) {
  switch (message.type) {
    case "hello": {
      const again = hello?.name === message.name && `${hello.size}` === `${message.size}`;
      hello = message;
      panel.begin(hello);
      stage.begin(hello, again);
      touch.begin(hello);
      if (hello.dim === 2 && !again) choose("particles", 0);
      else panel.setLook(stage.look, value);
      break;
    }
    case "status":
      status = message;
      panel.status(message);
      break;
    case "stats":
      panel.addStats(message.values, message.gauges);
      break;
    case "history":
      panel.setHistory(message);
      break;
    case "you":
      panel.you(message);
      touch.setSteers(message.steers);
      break;
    case "notice":
      panel.say(message.text);
  }
  dirty = true;
}

function onBinary(message: BinaryMessage) {
  dirty = true;
  if (message.kind === "geometry") {
    stage.setGeometry(message);
    return;
  }
  if (frame && message.step < frame.step && hello?.live) panel.clearPlots();
  if (message.kind === "particles") stage.showParticles(message);
  else stage.showSurface(message);
  touch.solids = message.solids;
  frame = message;
  tellFrame(message);
  unshown = message.serial;
}
let unshown: number | undefined;

function tellFrame(f: Frame) {
  flow.came(performance.now() / 1000, f.time);
  const count = f.kind === "particles" ? f.values.length - f.below : f.triangles.length / 3;
  const rows: [string, string][] = [
    ["time", `${f.time.toFixed(3)} s`],
    hello?.live ? ["step", f.step.toLocaleString("en")] : ["frame", `${f.step}`],
    [f.kind === "particles" ? "particles" : "triangles", count.toLocaleString("en")],
    ["pictures/s", String(flow.pictures)],
  ];
  if (hello?.live)
    rows.push(
      ["steps/s", show(f.stepsASecond)],
      ["of real time", Number.isNaN(flow.speed) ? "–" : `${show(flow.speed)} ×`],
    );
  panel.frame(rows, f.frame, f.time);
  if (f.kind === "particles") panel.showLegend(stage.look, f.value, f.low, f.high);
  Object.assign(document.body.dataset, { time: f.time, step: f.step, frame: f.frame, count });
}

// -------------------------------------------------------------------------------------- saving

function save(blob: Blob, name: string) {
  const a = document.createElement("a");
  a.href = URL.createObjectURL(blob);
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 10000);
}

const fileName = () => `${(hello?.name ?? "brim").replace(/\.\w+$/, "")}-${frame?.frame ?? 0}`;

function savePicture() {
  stage.resize();
  stage.render();
  stage.canvas.toBlob((blob) => blob && save(blob, `${fileName()}.png`), "image/png");
  stage.resize(pace.quality);
  dirty = true;
}

function toggleFilm() {
  if (film) {
    film.stop();
    return;
  }
  const parts: Blob[] = [];
  film = new MediaRecorder(stage.canvas.captureStream(30), { videoBitsPerSecond: 12e6 });
  film.ondataavailable = (e) => parts.push(e.data);
  film.onstop = () => {
    film = undefined;
    panel.recording(false);
    save(new Blob(parts, { type: "video/webm" }), `${fileName()}.webm`);
  };
  film.start(1000);
  panel.recording(true);
}

// ---------------------------------------------------------------------------------------- keys

const TURN = Math.PI / 24;
const ZOOM = 1.15;
const keys: Record<string, () => void> = {
  " ": () => link.send(status?.playing ? say.pause() : say.play()),
  ".": () => link.send(say.step()),
  r: () => link.send(say.restart()),
  h: () => panel.chooseTool("hand"),
  p: () => panel.chooseTool("pour"),
  s: () => panel.chooseTool("stir"),
  "0": () => {
    if (hello) stage.aim(hello);
    dirty = true;
  },
  "Shift ArrowLeft": () => stage.turn(-TURN, 0),
  "Shift ArrowRight": () => stage.turn(TURN, 0),
  "Shift ArrowUp": () => stage.turn(0, TURN),
  "Shift ArrowDown": () => stage.turn(0, -TURN),
  "+": () => stage.approach(1 / ZOOM),
  "-": () => stage.approach(ZOOM),
  "1": () => choose("water", value),
  "2": () => choose("surface", value),
  "3": () => choose("particles", value),
  i: savePicture,
  m: toggleFilm,
  ArrowLeft: () => frame && !hello?.live && link.send(say.seek(frame.frame - 1)),
  ArrowRight: () => frame && !hello?.live && link.send(say.seek(frame.frame + 1)),
  Home: () => !hello?.live && link.send(say.seek(0)),
  End: () => !hello?.live && status && link.send(say.seek(status.frames - 1)),
};

window.addEventListener("keydown", (e) => {
  const at = e.target as HTMLElement;
  if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(at.tagName)) return;
  if (at.tagName === "BUTTON" && e.key === " ") return;
  const action = keys[(e.shiftKey && e.key.startsWith("Arrow") ? "Shift " : "") + e.key];
  if (!action) return;
  e.preventDefault();
  action();
});

// ------------------------------------------------------------------------------------- picture

const night = window.matchMedia("(prefers-color-scheme: dark)");
const setNight = () => {
  stage.setDark(night.matches);
  dirty = true;
};
night.addEventListener("change", setNight);
stage.controls.addEventListener("change", () => (dirty = true));
new ResizeObserver(() => {
  stage.resize(pace.quality);
  stage.render();
  dirty = true;
}).observe(panel.canvas);

let drawn = 0; // when a picture was begun whose end is not known
function paint() {
  requestAnimationFrame(paint);
  touch.tick();
  if (drawn && pace.took(performance.now() - drawn)) {
    stage.resize(pace.quality);
    dirty = true;
  }
  drawn = 0;
  if (!dirty) return;
  dirty = false;
  drawn = performance.now();
  stage.render();
  document.body.dataset.painted = String(frame?.serial ?? 0);
  document.body.dataset.eye = stage.camera.position.toArray().join(" ");
  if (unshown !== undefined) link.shown(unshown);
  unshown = undefined;
}

setNight();
stage.resize();
panel.chooseTool("hand");
panel.state("connecting");
link.open();
requestAnimationFrame(paint);
// for tests and for those who look into the page
document.body.dataset.backend = stage.backend;
Object.assign(window, { brim: { stage, touch, link, pace, say, frame: () => frame } });
