// The controls beside the picture, as HTML: everything has a label, and a key where one helps.
import { colourAt, show } from "./colour";
import { draw, Series } from "./plot";
import { Columns, Hello, History, Setting, Status, You } from "./protocol";
import { Slider, sliderFor, STEPS, toPlace, toValue } from "./range";
import type { Look } from "./stage";

export type Tool = "hand" | "pour" | "stir";

export interface Actions {
  play(): void;
  step(): void;
  restart(): void;
  speed(x: number): void;
  seek(frame: number): void;
  look(look: Look): void;
  value(index: number): void;
  tool(tool: Tool): void;
  set(key: string, values: number[]): void;
  steer(): void;
  picture(): void;
  film(): void;
  home(): void;
}

type Props = Record<string, unknown>;

/** An element with properties, attributes (with a dash or as data) and children. */
function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (name in made && !name.includes("-")) (made as unknown as Props)[name] = value;
    else made.setAttribute(name, String(value));
  }
  made.append(...children);
  return made;
}

function button(text: string, title: string, onclick: () => void, id = "") {
  return el("button", { type: "button", title, "aria-label": title, onclick, id }, text);
}

const SPEEDS: [number, string][] = [
  [0.1, "1/10 ×"],
  [0.25, "1/4 ×"],
  [0.5, "1/2 ×"],
  [1, "1 ×"],
  [2, "2 ×"],
  [4, "4 ×"],
  [0, "as fast as it goes"],
];

export class Panel {
  readonly canvas = el("canvas", {
    id: "view",
    tabIndex: 0,
    "aria-label": "The water. Drag to turn, two fingers or the wheel to zoom, right button to pan.",
  });
  private readonly banner = el("div", { id: "banner", role: "status", "aria-live": "polite" });
  private readonly notice = el("div", { id: "notice", role: "alert" });
  private readonly numbers = el("dl", { id: "numbers" });
  private readonly playButton = button("Play", "Play (space)", () => this.do.play(), "play");
  private readonly legend = el("div", { id: "legend", "aria-label": "Colour scale" });
  private readonly scale = el("canvas", { width: 256, height: 1, "aria-hidden": true });
  private readonly legendText = el("div", { className: "ends" });
  private readonly settings = el("div", { id: "settings" });
  private readonly plots = el("div", { id: "plots" });
  private readonly steerButton = button("Take the wheel", "Steer from this tab", () =>
    this.do.steer(),
  );
  private readonly timeline = el("input", {
    type: "range",
    id: "timeline",
    min: "0",
    max: "0",
    value: "0",
    "aria-label": "Frame",
    oninput: () => this.do.seek(+this.timeline.value),
  });
  private readonly filmButton = button("Film", "Record a film (m)", () => this.do.film(), "film");
  private speedSelect = el("select", { id: "speed" });
  private valueSelect = el("select", { id: "value" });
  private lookSelect = el("select", { id: "look" });
  private readonly tools: HTMLButtonElement[] = [];
  private readonly series = new Map<string, Series>();
  private readonly shownPlots: { select: HTMLSelectElement; canvas: HTMLCanvasElement }[] = [];
  private readonly sliders = new Map<string, { setting: Setting; update(v: number[]): void }>();
  private readonly side: HTMLElement;
  private hello?: Hello;
  private noticeTimer = 0;

  constructor(
    app: HTMLElement,
    private readonly actions: Actions,
  ) {
    this.side = this.buildSide();
    const toggle = button("Controls", "Show or hide the controls", () => {
      const hidden = app.classList.toggle("closed");
      toggle.setAttribute("aria-expanded", String(!hidden));
    });
    toggle.id = "toggle";
    toggle.setAttribute("aria-expanded", "true");
    const stage = el("div", { id: "stage" }, this.canvas, this.legend, this.banner, this.notice);
    app.append(stage, this.side, toggle);
    this.paintScale();
  }

  private get do() {
    return this.actions;
  }

  private section(title: string, ...children: (Node | string)[]) {
    return el("section", {}, el("h2", {}, title), ...children);
  }

  private buildSide() {
    const select = (s: HTMLSelectElement, label: string, change: () => void) => {
      s.onchange = change;
      return el("label", {}, el("span", {}, label), s);
    };
    for (const [x, text] of SPEEDS) this.speedSelect.append(el("option", { value: x }, text));
    for (const tool of ["hand", "pour", "stir"] as Tool[]) {
      const titles = {
        hand: "Drag things, or turn the view (h)",
        pour: "Pour water (p)",
        stir: "Stir (s)",
      };
      const texts = { hand: "Hand", pour: "Pour", stir: "Stir" };
      const made = button(texts[tool], titles[tool], () => this.chooseTool(tool), `tool-${tool}`);
      this.tools.push(made);
    }
    const looks: [Look, string][] = [
      ["water", "water"],
      ["surface", "surface mesh"],
      ["particles", "particles"],
    ];
    for (const [look, text] of looks) this.lookSelect.append(el("option", { value: look }, text));
    return el(
      "aside",
      { id: "side", "aria-label": "Controls" },
      el("h1", { id: "title" }, "Brim"),
      this.section(
        "Time",
        el(
          "div",
          { className: "row" },
          this.playButton,
          button("Step", "One step (.)", () => this.do.step(), "step"),
          button("Restart", "From the start (r)", () => this.do.restart(), "restart"),
        ),
        select(this.speedSelect, "Speed", () => this.do.speed(+this.speedSelect.value)),
        el("div", { id: "timerow", hidden: true }, this.timeline),
        this.numbers,
        this.steerButton,
      ),
      el(
        "section",
        { id: "touch" },
        el("h2", {}, "Touch"),
        el(
          "div",
          { className: "row", id: "tools", role: "group", "aria-label": "Tool" },
          ...this.tools,
        ),
      ),
      this.section(
        "Look",
        select(this.lookSelect, "Liquid", () => this.do.look(this.lookSelect.value as Look)),
        select(this.valueSelect, "Colour by", () => this.do.value(+this.valueSelect.value)),
        el(
          "div",
          { className: "row" },
          button("Picture", "Save a picture (i)", () => this.do.picture(), "picture"),
          this.filmButton,
          button("All", "Show all (0)", () => this.do.home(), "home"),
        ),
      ),
      el("section", { id: "change" }, el("h2", {}, "Change"), this.settings),
      this.section("Plots", this.plots),
    );
  }

  chooseTool(tool: Tool) {
    for (const t of this.tools) t.setAttribute("aria-pressed", String(t.id === `tool-${tool}`));
    this.canvas.dataset.tool = tool;
    this.actions.tool(tool);
  }

  private paintScale() {
    const c = this.scale.getContext("2d");
    for (let i = 0; c && i < 256; i++) {
      c.fillStyle = `rgb(${colourAt(i / 255).join(",")})`;
      c.fillRect(i, 0, 1, 1);
    }
    this.legend.append(el("div", { className: "name" }), this.scale, this.legendText);
    this.legend.hidden = true;
  }

  // ----------------------------------------------------------------------------- what is told

  begin(hello: Hello) {
    this.hello = hello;
    document.title = `${hello.name} – Brim`;
    this.side.querySelector("#title")!.textContent = hello.name;
    this.valueSelect.replaceChildren(
      ...hello.values
        .map((v, i) => ({ ...v, i }))
        .filter((v) => hello.dim === 3 || v.name !== "velocity z")
        .map((v) => el("option", { value: v.i }, v.unit ? `${v.name} (${v.unit})` : v.name)),
    );
    const surface = this.lookSelect.querySelector<HTMLOptionElement>("option[value=surface]")!;
    surface.disabled = !hello.surface;
    (this.side.querySelector("#touch") as HTMLElement).hidden = !hello.live;
    (this.side.querySelector("#change") as HTMLElement).hidden = !hello.live;
    (this.side.querySelector("#timerow") as HTMLElement).hidden = hello.live;
    this.beginPlots(hello);
  }

  state(state: string) {
    const texts: Record<string, string> = {
      connecting: "Connecting …",
      open: "",
      lost: "The server does not answer. Trying again …",
      refused: "The server refuses this address: open the one that it printed last.",
    };
    this.banner.textContent = texts[state] ?? "";
    this.banner.dataset.state = state;
    document.body.dataset.state = state;
  }

  /** A notice; it goes after some seconds unless it is to stay. */
  say(text: string, stays = false) {
    this.notice.textContent = text;
    clearTimeout(this.noticeTimer);
    if (stays) return;
    this.noticeTimer = window.setTimeout(() => (this.notice.textContent = ""), 8000);
  }

  status(s: Status) {
    const text = s.playing ? "Pause" : "Play";
    const title = s.playing ? "Pause (space)" : "Play (space)";
    this.playButton.textContent = text;
    this.playButton.title = title;
    this.playButton.setAttribute("aria-label", title);
    document.body.dataset.playing = String(s.playing);
    this.speedSelect.value = String(s.speed);
    this.timeline.max = String(Math.max(s.frames - 1, 0));
    document.body.dataset.ended = String(s.ended);
    if (s.failure) this.say(s.failure, true);
    else if (s.ended && this.hello?.live) this.say("The simulation has come to its end.", true);
    this.changeSettings(s.settings);
  }

  you(you: You) {
    this.steerButton.hidden = you.steers;
    document.body.dataset.steers = String(you.steers);
    for (const id of ["play", "step", "restart", "speed", "timeline"]) {
      const at = document.getElementById(id) as HTMLButtonElement | null;
      if (at) at.disabled = !you.steers;
    }
    for (const id of ["settings", "tools"])
      document.getElementById(id)?.toggleAttribute("inert", !you.steers);
  }

  /** Numbers of the frame on the screen. */
  frame(numbers: [string, string][], frame: number, time: number) {
    this.numbers.replaceChildren(
      ...numbers.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]),
    );
    if (this.hello?.live) return;
    if (document.activeElement !== this.timeline) this.timeline.value = String(frame);
    this.drawPlots(time);
  }

  showLegend(look: Look, value: number, low: number, high: number) {
    const name = this.hello?.values[value];
    this.legend.hidden = look !== "particles" || !name;
    if (!name) return;
    this.legend.firstElementChild!.textContent = name.unit
      ? `${name.name} (${name.unit})`
      : name.name;
    this.legendText.replaceChildren(
      ...[low, 0.5 * (low + high), high].map((v) => el("span", {}, show(v))),
    );
  }

  recording(on: boolean) {
    this.filmButton.textContent = on ? "Stop film" : "Film";
    this.filmButton.setAttribute("aria-pressed", String(on));
  }

  setLook(look: Look, value: number) {
    this.lookSelect.value = look;
    this.valueSelect.value = String(value);
  }

  // --------------------------------------------------------------------------------- settings

  private changeSettings(settings: Setting[]) {
    const same =
      settings.length === this.sliders.size && settings.every((s) => this.sliders.has(s.key));
    if (!same) {
      this.sliders.clear();
      this.settings.replaceChildren(...settings.map((s) => this.addSetting(s)));
    }
    for (const s of settings) this.sliders.get(s.key)?.update(s.values);
  }

  private addSetting(setting: Setting): HTMLElement {
    const axes = setting.values.length > 1 ? ["x", "y", "z"] : [""];
    const values = [...setting.values];
    const size = Math.max(...setting.values.map(Math.abs));
    const slider: Slider = sliderFor(setting.range, setting.values.length > 1 ? size : values[0]);
    const rows = setting.values.map((value, i) => {
      const output = el("output", {}, show(value));
      const input = el("input", {
        type: "range",
        min: "0",
        max: String(STEPS),
        "aria-label": `${setting.key} ${axes[i]} ${setting.unit}`.trim(),
        "data-key": `${setting.key}${axes[i] && "." + axes[i]}`,
        oninput: () => {
          values[i] = toValue(slider, +input.value);
          output.textContent = show(values[i]);
          this.actions.set(setting.key, values);
        },
      });
      input.value = String(toPlace(slider, value));
      return { input, output, row: el("div", { className: "slider" }, axes[i], input, output) };
    });
    this.sliders.set(setting.key, {
      setting,
      update: (now) => {
        rows.forEach((r, i) => {
          if (document.activeElement === r.input) return;
          values[i] = now[i];
          r.input.value = String(toPlace(slider, now[i]));
          r.output.textContent = show(now[i]);
        });
      },
    });
    const unit = setting.unit ? ` (${setting.unit})` : "";
    const name = el("div", { className: "key", title: setting.help }, setting.key + unit);
    return el("div", { className: "setting" }, name, ...rows.map((r) => r.row));
  }

  // ------------------------------------------------------------------------------------ plots

  private beginPlots(hello: Hello) {
    const names = hello.columns.filter((c) => c !== "time" && c !== "step");
    for (const g of hello.gauges) for (const c of g.columns) names.push(`${g.name}: ${c}`);
    const before = this.shownPlots.map((p) => p.select.value);
    this.series.clear();
    for (const name of names) this.series.set(name, new Series());
    this.shownPlots.length = 0;
    this.plots.replaceChildren();
    const gauges = names.filter((n) => n.includes(": "));
    const first = [...gauges, "kinetic_energy", "max_speed", "volume", "ms_total"].slice(0, 3);
    // what was chosen stays when the server comes back
    const chosen = first.map((name, i) => (names.includes(before[i]) ? before[i] : name));
    for (const wanted of chosen) {
      const select = el("select", {
        "aria-label": "Column to plot",
        onchange: () => this.drawPlots(),
      });
      for (const name of names) select.append(el("option", { value: name }, name));
      select.value = wanted;
      const canvas = el("canvas", {
        className: "plot",
        role: "img",
        "aria-label": "Plot over time",
      });
      this.shownPlots.push({ select, canvas });
      this.plots.append(select, canvas);
    }
  }

  /** A row of statistics and gauges. */
  addStats(values: (number | null)[], gauges: (number | null)[][]) {
    const hello = this.hello;
    if (!hello) return;
    const time = values[hello.columns.indexOf("time")] ?? 0;
    hello.columns.forEach((name, i) => this.series.get(name)?.add(time, values[i]));
    hello.gauges.forEach((g, k) =>
      g.columns.forEach((c, i) => this.series.get(`${g.name}: ${c}`)?.add(time, gauges[k]?.[i])),
    );
    this.drawPlots();
  }

  /** All rows of a recording, and of its gauges. */
  setHistory(history: History) {
    const fresh: string[] = [];
    const put = (columns: Columns, prefix: string) => {
      const [first] = Object.keys(columns); // the time
      for (const [name, values] of Object.entries(columns)) {
        const key = prefix + name;
        if (prefix && name !== first && !this.series.has(key)) {
          this.series.set(key, new Series());
          fresh.push(key);
        }
        const series = this.series.get(key);
        if (!series) continue;
        series.time = columns[first].map((t) => t ?? 0);
        series.value = values.map((v) => v ?? NaN);
      }
    };
    put(this.withTimeFirst(history.columns), "");
    for (const g of history.gauges) put(g.columns, `${g.name}: `);
    this.shownPlots.forEach(({ select }, i) => {
      for (const name of fresh) select.append(el("option", { value: name }, name));
      if (fresh[i]) select.value = fresh[i];
    });
    this.drawPlots();
  }

  private withTimeFirst(columns: Columns): Columns {
    return { time: columns.time, ...columns };
  }

  clearPlots() {
    for (const s of this.series.values()) s.clear();
  }

  private drawPlots(mark?: number) {
    for (const { select, canvas } of this.shownPlots)
      draw(canvas, this.series.get(select.value) ?? new Series(), mark);
  }
}
