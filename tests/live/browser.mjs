// brim live and brim view in Chromium, as people use them.
//
//   node tests/live/browser.mjs BUILD [PART-OF-A-NAME...]     PICTURES=DIR keeps screenshots
//
// Ends with "N passed, N failed".
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const { chromium } = createRequire(resolve("viewer/package.json"))("playwright-core");
const [build = "build", ...parts] = process.argv.slice(2);
const brim = resolve(build, "brim");
const work = mkdtempSync(join(tmpdir(), "brim-browser-"));
const pictures = process.env.PICTURES && resolve(process.env.PICTURES);
if (pictures) mkdirSync(pictures, { recursive: true });
const TOKEN = "0123456789abcdefghij";

// Without a graphics card SwiftShader draws: WebGL 2 here, WebGPU with more flags.
const launch = (...args) =>
  chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", ...args],
  });
const browser = await launch();
const servers = new Set();
let passed = 0;
let failed = 0;

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

/** Waits until a promise-giving test holds. */
async function until(what, test, ms = 60000) {
  const end = Date.now() + ms;
  for (;;) {
    const value = await test();
    if (value) return value;
    if (Date.now() > end) throw new Error(`in ${ms / 1000} s not: ${what}`);
    await sleep(50);
  }
}

function expect(holds, what) {
  if (!holds) throw new Error(what);
}

/** Starts brim; gives its address and how to end it. */
async function serve(...args) {
  const child = spawn(brim, [...args, "--no-open"], { cwd: work, stdio: ["ignore", "pipe", "pipe"] });
  const server = { child, log: "", url: "", started: Date.now() };
  servers.add(server);
  child.stderr.on("data", (d) => (server.log += d));
  child.stdout.on("data", (d) => (server.url += d));
  server.gone = new Promise((done) => child.on("exit", (code) => done(code)));
  server.stop = (signal = "SIGINT") => {
    child.kill(signal);
    servers.delete(server);
    return server.gone;
  };
  await until(`an address: ${server.log}`, () => server.url.endsWith("\n") || child.exitCode !== null);
  server.url = server.url.trim();
  if (!server.url) throw new Error(server.log);
  return server;
}

/** A live server of a scene of ours, small enough for a software renderer. */
const live = (scene, ...args) =>
  serve("live", resolve("scenes", scene), "--threads", "1", "--token", TOKEN, ...args);

async function open(url, options = {}, by = browser) {
  const page = await by.newPage({ viewport: { width: 760, height: 500 }, ...options });
  page.errors = [];
  page.on("pageerror", (e) => page.errors.push(e.message));
  page.on("console", (m) => m.type() === "error" && page.errors.push(m.text()));
  if (process.env.CONSOLE) page.on("console", (m) => console.log(`     ${m.type()}: ${m.text()}`));
  await page.goto(url);
  return page;
}

const data = (page) => page.evaluate(() => ({ ...document.body.dataset }));
const painted = (page) => until("a picture", async () => +(await data(page)).painted > 0);

/** The picture with all pixels, however slow the machine. */
const fine = (page) =>
  page.evaluate(() => {
    window.brim.pace.took = () => false; // and it stays
    window.brim.stage.resize();
    window.brim.stage.render();
  });

async function shot(page, name) {
  await page.evaluate(() => document.activeElement?.blur?.());
  await sleep(600);
  if (!pictures) return;
  await fine(page);
  await page.screenshot({ path: join(pictures, `live-${name}.png`) });
  await page.evaluate(() => {
    delete window.brim.pace.took;
    window.brim.stage.resize(window.brim.pace.quality);
  });
}

/** Where the camera is, m. */
const eyeOf = async (page) => (await data(page)).eye.split(" ").map(Number);

const distance = (a, b) => Math.hypot(...a.map((x, i) => x - b[i]));

/** Share of the picture that is blue. */
const wet = (page) =>
  page.evaluate(() => {
    const { canvas } = window.brim.stage;
    window.brim.stage.render(); // what WebGPU drew is there until the task ends
    const c = document.createElement("canvas");
    [c.width, c.height] = [canvas.width, canvas.height];
    const g = c.getContext("2d");
    g.drawImage(canvas, 0, 0);
    const p = g.getImageData(0, 0, c.width, c.height).data;
    let n = 0;
    for (let i = 0; i < p.length; i += 4) n += p[i + 2] > p[i] + 25;
    return n / (p.length / 4);
  });

/** Where a point of space is on the page, in pixels. */
const project = (page, point) =>
  page.evaluate(([x, y, z]) => {
    const { stage } = window.brim;
    const v = stage.camera.position.clone().set(x, y, z).project(stage.camera);
    const box = stage.canvas.getBoundingClientRect();
    return {
      x: box.left + (0.5 + 0.5 * v.x) * box.width,
      y: box.top + (0.5 - 0.5 * v.y) * box.height,
    };
  }, point);

/** Mean of a body's vertices, as the server sent them last. */
const bodyCentre = (page, i) =>
  page.evaluate((k) => {
    const v = window.brim.frame().bodies[k];
    const sum = [0, 0, 0];
    for (let n = 0; n < v.length; n++) sum[n % 3] += (3 * v[n]) / v.length;
    return sum;
  }, i);

const solidAt = (page, i) =>
  page.evaluate((k) => [...window.brim.frame().solids[k].position], i);

async function drag(page, from, to, steps = 12) {
  await page.mouse.move(from.x, from.y);
  await page.mouse.down();
  for (let i = 1; i <= steps; i++) {
    const s = i / steps;
    await page.mouse.move(from.x + s * (to.x - from.x), from.y + s * (to.y - from.y));
    await sleep(60);
  }
  return () => page.mouse.up();
}

const events = (folder) => readFileSync(join(work, folder, "events.txt"), "utf8");

/** Moves a slider to a share of its way, as a person would. */
async function slide(page, key, share) {
  const slider = page.locator(`input[data-key="${key}"]`);
  await slider.evaluate((at, s) => {
    at.value = String(Math.round(s * +at.max));
    at.dispatchEvent(new Event("input", { bubbles: true }));
  }, share);
}

// ---------------------------------------------------------------------------------------- tests

const tests = {
  async "page opens and shows the water"() {
    const server = await live("dam.yaml", "--set", "domain.cells=40", "-o", "first");
    const page = await open(server.url);
    await painted(page);
    await until("time goes on", async () => +(await data(page)).time > 0.2);
    const count = +(await data(page)).count;
    expect(count > 10000, `${count} particles`);
    const blue = await wet(page);
    expect(blue > 0.03, `only ${blue} of the picture is water`);
    expect(page.errors.length === 0, page.errors.join());
    await shot(page, "water");
    await page.keyboard.press("3");
    await until("particles", () => page.locator("#legend").isVisible());
    await shot(page, "particles");
    await page.close();
    expect((await server.stop()) === 130, "exit code");
    expect(server.log.includes("checkpoint first/checkpoints"), server.log);
  },

  async "picture is that of brim render"() {
    execFileSync(brim, ["run", resolve("scenes/dam.yaml"), "-o", "run", "--quiet", "--frames", "14",
      "--set", "domain.cells=40", "--set", "output.surface=ply"], { cwd: work });
    const server = await serve("view", "run", "--token", TOKEN);
    const page = await open(server.url);
    await painted(page);
    await page.keyboard.press("3");
    await page.locator("#timeline").evaluate((at) => {
      at.value = "12";
      at.dispatchEvent(new Event("input", { bubbles: true }));
    });
    await until("frame 12", async () => (await data(page)).frame === "12");
    await sleep(700);
    const view = await page.evaluate(() => {
      const { stage } = window.brim;
      const { position: p, fov } = stage.camera;
      const t = stage.controls.target;
      stage.resize();
      const { width, height } = stage.canvas;
      return { camera: `${p.x},${p.y},${p.z}:${t.x},${t.y},${t.z}:${fov}`, width, height };
    });
    // a range in which no water is white
    execFileSync(brim, ["render", "run", "--frame", "12", "--range", "0:20", "--style", "particles", "--camera",
      view.camera, "--size", `${view.width}x${view.height}`, "-o", "ours.png"], { cwd: work });
    const png = `data:image/png;base64,${readFileSync(join(work, "ours.png")).toString("base64")}`;
    // both paint water in colours and all else in greys and browns: share of water by blocks
    const apart = await page.evaluate(async (source) => {
      const blocks = (image) => {
        const c = document.createElement("canvas");
        [c.width, c.height] = [240, Math.round((240 * image.height) / image.width)];
        const g = c.getContext("2d");
        g.drawImage(image, 0, 0, c.width, c.height);
        const p = g.getImageData(0, 0, c.width, c.height).data;
        const sums = new Float64Array(24 * Math.ceil(c.height / 10));
        for (let i = 0; i < p.length / 4; i++) {
          const [r, gr, b] = [p[4 * i], p[4 * i + 1], p[4 * i + 2]];
          const wet = Math.max(gr, b) > r + 18 && Math.max(r, gr, b) - Math.min(r, gr, b) > 40;
          const x = Math.floor((i % c.width) / 10);
          sums[24 * Math.floor(Math.floor(i / c.width) / 10) + x] += wet ? 0.01 : 0;
        }
        return sums;
      };
      const image = new Image();
      image.src = source;
      await image.decode();
      window.brim.stage.resize();
      window.brim.stage.render();
      const a = blocks(window.brim.stage.canvas);
      const b = blocks(image);
      let both = 0;
      let either = 0;
      for (let i = 0; i < a.length; i++) {
        both += Math.min(a[i], b[i]);
        either += Math.max(a[i], b[i]);
      }
      return { both, either };
    }, png);
    if (pictures) writeFileSync(join(pictures, "render.png"), readFileSync(join(work, "ours.png")));
    await shot(page, "view");
    const share = apart.both / apart.either;
    console.log(`     water of both pictures: ${share.toFixed(3)} of that of either`);
    expect(apart.either > 20 && share > 0.85, `pictures differ: ${JSON.stringify(apart)}`);
    await page.keyboard.press("2");
    await until("surface", async () => +(await data(page)).count > 100);
    await shot(page, "surface");
    await page.close();
    await server.stop();
  },

  async "WebGPU and WebGL draw the same"() {
    const server = await live("dam.yaml", "--set", "domain.cells=32", "--paused");
    const gpu = await launch("--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader",
      "--enable-features=Vulkan", "--use-vulkan=swiftshader");
    const seen = [];
    for (const by of [browser, gpu]) {
      const page = await open(server.url, {}, by);
      await painted(page);
      await page.locator("#side").evaluate((side) => (side.style.visibility = "hidden"));
      await sleep(500);
      // twice the water of what has been drawn, half of it in the air
      await page.evaluate(() => {
        const frame = window.brim.frame();
        const { length } = frame.positions;
        const positions = new Float32Array(2 * length);
        positions.set(frame.positions);
        for (let i = 0; i < length; i++)
          positions[length + i] = frame.positions[i] + (i % 3 === 1 ? 0.4 : 0);
        const values = new Uint8Array(positions.length / 3);
        window.brim.stage.showParticles({ ...frame, positions, values });
      });
      await fine(page);
      seen.push({ backend: (await data(page)).backend, errors: page.errors, png: await page.screenshot() });
      await page.close();
    }
    await gpu.close();
    const [webgl, webgpu] = seen;
    expect(webgl.backend === "WebGL 2" && webgpu.backend === "WebGPU",
      `drawn by ${webgl.backend} and ${webgpu.backend}`);
    expect(webgpu.errors.length === 0, webgpu.errors.join());
    const page = await browser.newPage();
    const apart = await page.evaluate(async (sources) => {
      const pixels = [];
      for (const source of sources) {
        const image = new Image();
        image.src = source;
        await image.decode();
        const c = document.createElement("canvas");
        [c.width, c.height] = [image.width, image.height];
        const g = c.getContext("2d");
        g.drawImage(image, 0, 0);
        pixels.push(g.getImageData(0, 0, c.width, c.height).data);
      }
      let sum = 0;
      let wet = 0;
      for (let i = 0; i < pixels[0].length; i++) sum += Math.abs(pixels[0][i] - pixels[1][i]);
      for (let i = 0; i < pixels[0].length; i += 4) wet += pixels[0][i + 2] > pixels[0][i] + 25;
      return { mean: sum / pixels[0].length, wet: wet / (pixels[0].length / 4) };
    }, seen.map((s) => `data:image/png;base64,${s.png.toString("base64")}`));
    if (pictures) seen.forEach((x, i) => writeFileSync(join(pictures, `backend-${i}.png`), x.png));
    console.log(`     mean difference: ${apart.mean.toFixed(3)} of 255`);
    expect(apart.wet > 0.03, `only ${apart.wet} of the pictures is water`);
    expect(apart.mean < 1, `the pictures differ by ${apart.mean} of 255`);
    await page.close();
    await server.stop();
  },

  async "water below a narrow band is seen"() {
    const shares = [];
    for (const band of ["0", "2"]) {
      const server = await live("dam.yaml", "--set", "domain.cells=40", "--set", `band.width=${band}`, "--paused");
      const page = await open(server.url);
      await painted(page);
      await fine(page);
      shares.push(await wet(page));
      if (band !== "0") {
        await shot(page, "band");
        shares.push(
          await page.evaluate(() => {
            const frame = window.brim.frame();
            const count = frame.values.length - frame.below;
            const positions = frame.positions.slice(0, 3 * count);
            window.brim.stage.showParticles({ ...frame, positions, values: frame.values.slice(0, count), below: 0 });
          }).then(() => wet(page)),
        );
      }
      await page.close();
      await server.stop();
    }
    const [whole, band, hollow] = shares;
    console.log(`     blue: ${shares.map((x) => x.toFixed(3))} of the picture`);
    expect(band > 0.95 * whole && band < 1.05 * whole, "not as much as with particles everywhere");
    expect(hollow < 0.9 * whole, "this test would not see the cells missing");
  },

  async "pause stops time, step goes on by one"() {
    const server = await live("dam.yaml", "--set", "domain.cells=32");
    const page = await open(server.url);
    await painted(page);
    await page.keyboard.press(" ");
    await until("paused", async () => (await data(page)).playing === "false");
    let last = -1; // frames that were on their way
    await until("all frames are there", async () => {
      const { step } = await data(page);
      await sleep(1500);
      return step === last || !(last = step);
    });
    const before = await data(page);
    await sleep(1000);
    expect((await data(page)).step === before.step, "time goes on");
    await page.click("#step");
    await until("one step", async () => +(await data(page)).step === +before.step + 1);
    await page.click("#restart");
    await until("from the start", async () => +(await data(page)).step < 2);
    await page.close();
    await server.stop();
  },

  async "slider changes gravity"() {
    const server = await live("dam.yaml", "--set", "domain.cells=32", "-o", "slider");
    const page = await open(server.url);
    await painted(page);
    await page.waitForSelector('input[data-key="gravity.y"]');
    await slide(page, "gravity.y", 0.75); // from -20 to 20: 10 m/s^2 upwards
    await until("an event", () => /set gravity 0 10 0/.test(events("slider")));
    await until("water falls upwards", async () =>
      page.evaluate(() => {
        const p = window.brim.stage.positions;
        let y = 0;
        for (let i = 1; i < p.length; i += 3) y += (3 * p[i]) / p.length;
        return y > 0.5;
      }),
    );
    await page.close();
    await server.stop();
  },

  async "a body is dragged"() {
    // Paused until the mouse holds it: where drawing is slow, a crate that drifts is elsewhere by then.
    const server = await live("crates.yaml", "--set", "domain.cells=32", "--paused", "-o", "body");
    const page = await open(server.url);
    await painted(page);
    await page.keyboard.press("3");
    await until("bodies", async () => (await page.evaluate(() => window.brim.frame()?.bodies.length)) === 3);
    const before = await bodyCentre(page, 0);
    const from = await project(page, [before[0], before[1] + 0.06, before[2]]);
    const to = await project(page, [before[0], before[1] + 0.45, before[2]]);
    const release = await drag(page, from, to);
    await until("it is held", () => /grab/.test(events("body")));
    await page.keyboard.press(" ");
    await until("the body is up", async () => (await bodyCentre(page, 0))[1] > before[1] + 0.2);
    await shot(page, "drag");
    await release();
    const text = await until("a release", () => /release/.test(events("body")) && events("body"));
    expect(/\d+ grab 0 /.test(text) && /\d+ drag 0 /.test(text), text);
    await until("it falls", async () => (await bodyCentre(page, 0))[1] < before[1] + 0.2);
    await page.close();
    await server.stop();
  },

  async "a solid is dragged, water poured and stirred"() {
    const server = await live("dam.yaml", "--set", "domain.cells=32", "-o", "solid");
    const page = await open(server.url);
    await painted(page);
    const before = await solidAt(page, 1); // the one in front
    const from = await project(page, [before[0], 0.9, before[2]]);
    const to = await project(page, [before[0] + 0.3, 0.9, before[2]]);
    await (await drag(page, from, to))();
    await until("the pillar moved", async () => (await solidAt(page, 1))[0] > before[0] + 0.15);
    const count = +(await data(page)).count;
    await page.keyboard.press("p");
    const sky = await project(page, [1, 0.8, 0.5]);
    await (await drag(page, sky, { x: sky.x + 40, y: sky.y }))();
    await until("more water", async () => +(await data(page)).count > count + 50);
    await page.keyboard.press("s");
    const water = await project(page, [0.4, 0.1, 0.9]);
    await (await drag(page, water, { x: water.x + 90, y: water.y - 30 }))();
    await until("it was stirred", () => /stir/.test(events("solid")));
    await page.close();
    await server.stop();
  },

  async "what was done is done again, bit for bit"() {
    const args = ["--set", "domain.cells=24", "--set", "time.duration=1"];
    // step by step, so that all of it falls into the run, then to its end
    const server = await live("crates.yaml", ...args, "--record", "--paused", "-o", "played");
    const page = await open(server.url);
    await painted(page);
    const steps = async (n) => {
      const before = +(await data(page)).step;
      for (let i = 0; i < n; i++) await page.keyboard.press(".");
      await until(`${n} steps`, async () => +(await data(page)).step >= before + n);
    };
    await steps(2);
    const at = await bodyCentre(page, 0);
    const from = await project(page, at);
    const release = await drag(page, from, await project(page, [at[0], at[1] + 0.3, at[2]]), 6);
    await steps(3);
    await release();
    await slide(page, "gravity.x", 0.6);
    await page.keyboard.press("p");
    const sky = await project(page, [0.6, 0.8, 0.5]);
    await (await drag(page, sky, { x: sky.x + 30, y: sky.y }, 4))();
    await until("water poured", () => events("played").includes("pour"));
    await page.selectOption("#speed", "0");
    await page.click("#play");
    await until("the end", async () => (await data(page)).ended === "true", 180000);
    expect(/end/.test(await page.locator("#notice").textContent()), "it does not say so");
    await page.close();
    await server.stop();
    const text = events("played");
    for (const verb of ["grab", "drag", "release", "set gravity", "pour"])
      expect(text.includes(verb), `no ${verb} in ${text}`);
    execFileSync(brim, ["run", resolve("scenes/crates.yaml"), ...args, "--events",
      "played/events.txt", "-o", "again", "--quiet", "--threads", "2"], { cwd: work });
    execFileSync("diff", ["-rq", "played/particles", "again/particles"], { cwd: work });
    execFileSync("diff", ["-rq", "played/bodies", "again/bodies"], { cwd: work });
  },

  async "reload and two tabs"() {
    const server = await live("dam.yaml", "--set", "domain.cells=24");
    const one = await open(server.url);
    await painted(one);
    const two = await open(server.url);
    await painted(two);
    await until("one of them steers", async () => (await data(two)).steers === "false");
    expect(await two.locator("#play").isDisabled(), "the second one could steer");
    // who watches turns the view, even where the one who steers would take hold of something
    expect(await two.locator("#tools").evaluate((e) => e.inert), "the second one has tools");
    const pillar = await solidAt(two, 1);
    const before = await eyeOf(two);
    const from = await project(two, [pillar[0], 0.9, pillar[2]]);
    await (await drag(two, from, { x: from.x + 90, y: from.y }, 4))();
    await until("the view turns", async () => distance(await eyeOf(two), before) > 0.05);
    expect(distance(await solidAt(two, 1), pillar) < 1e-6, "who watches moved the pillar");
    await two.getByText("Take the wheel").click();
    await until("the wheel is taken", async () => (await data(one)).steers === "false");
    await one.reload();
    await painted(one);
    const step = +(await data(one)).step;
    await until("it goes on", async () => +(await data(one)).step > step);
    await one.close();
    await two.close();
    await server.stop();
  },

  async "wrong token and wrong origin are refused"() {
    const server = await live("dam.yaml", "--set", "domain.cells=24");
    const page = await open(server.url.replace(TOKEN, "x".repeat(20)));
    await until("refusal", async () => (await data(page)).state === "refused");
    await shot(page, "refused");
    await page.close();
    const address = server.url.replace("http", "ws").replace("/#", "/live?token=");
    const elsewhere = createServer((_, answer) => {
      answer.setHeader("content-type", "text/html");
      answer.end(`<script>
        const s = new WebSocket(${JSON.stringify(address)}, "brim");
        s.onopen = () => (document.title = "open");
        s.onerror = () => (document.title = "refused");
      </script>`);
    });
    await new Promise((done) => elsewhere.listen(0, "127.0.0.1", done));
    const other = await open(`http://127.0.0.1:${elsewhere.address().port}/`);
    await until("an answer", async () => (await other.title()) !== "");
    expect((await other.title()) === "refused", "another site came in");
    await other.close();
    elsewhere.close();
    await server.stop();
  },

  async "server killed and restarted"() {
    const server = await live("dam.yaml", "--set", "domain.cells=24", "--port", "7377");
    const page = await open(server.url);
    await painted(page);
    const plot = page.locator("#plots select").first();
    await plot.selectOption("particles");
    await server.stop("SIGKILL");
    await until("it says so", async () => (await data(page)).state === "lost");
    await new Promise((done) => setTimeout(done, 4000)); // tries again, and no server is no refusal
    expect((await data(page)).state === "lost", "a server that is gone refuses nobody");
    await shot(page, "lost");
    const again = await live("dam.yaml", "--set", "domain.cells=24", "--port", "7377");
    await until("it comes back", async () => (await data(page)).state === "open");
    const step = +(await data(page)).step;
    await until("it goes on", async () => +(await data(page)).step !== step);
    expect((await plot.inputValue()) === "particles", "the chosen plot is another one now");
    await page.close();
    await again.stop();
  },

  async "two fingers on a screen"() {
    const server = await live("crates.yaml", "--set", "domain.cells=24");
    const page = await open(server.url, { viewport: { width: 400, height: 720 }, hasTouch: true });
    await painted(page);
    const canvas = await page.locator("#stage canvas").first().boundingBox();
    // above the tank: on a crate a finger would drag it
    const middle = { x: canvas.x + canvas.width / 2, y: canvas.y + 30 };
    const screen = await page.context().newCDPSession(page);
    const touch = (type, ...x) =>
      screen.send("Input.dispatchTouchEvent", {
        type,
        touchPoints: x.map((dx, id) => ({ x: middle.x + dx, y: middle.y, id })),
      });
    const away = async () => Math.hypot(...(await eyeOf(page)));
    const far = await away();
    await touch("touchStart", -20, 20);
    for (let d = 30; d <= 90; d += 10) await touch("touchMove", -d, d);
    await touch("touchEnd");
    await until("a pinch comes closer", async () => (await away()) < 0.8 * far);
    const [x] = await eyeOf(page);
    await touch("touchStart", 0);
    for (let d = 10; d <= 80; d += 10) await touch("touchMove", d);
    await touch("touchEnd");
    await until("a finger turns the view", async () => Math.abs((await eyeOf(page))[0] - x) > 0.1);
    await page.close();
    await server.stop();
  },

  async "narrow, dark, by keyboard"() {
    const server = await live("gate.yaml", "--set", "domain.cells=80");
    const page = await open(server.url, { viewport: { width: 400, height: 720 }, colorScheme: "dark" });
    await painted(page);
    await until("time goes on", async () => +(await data(page)).time > 0.25);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    expect(wide <= 400, `${wide} pixels wide`);
    const unnamed = await page.evaluate(() =>
      [...document.querySelectorAll("button, input, select, canvas:not([aria-hidden])")]
        .filter((e) => !e.getAttribute("aria-label") && !e.labels?.length && !e.textContent)
        .map((e) => e.outerHTML),
    );
    expect(unnamed.length === 0, `without a label: ${unnamed}`);
    const speed = async () => (await page.locator("#numbers").textContent()).match(/of real time([\d.]+) ×/);
    await until("the pace against real time", async () => +(await speed())?.[1] > 0.01);
    await shot(page, "narrow");
    const middle = [0.6, 0.25, 0];
    const away = distance(await eyeOf(page), middle);
    await page.keyboard.press("+");
    await until("+ comes closer", async () => distance(await eyeOf(page), middle) < 0.95 * away);
    const [x] = await eyeOf(page);
    await page.keyboard.press("Shift+ArrowRight");
    await until("an arrow turns the view", async () => (await eyeOf(page))[0] > x + 0.1);
    const saved = page.waitForEvent("download");
    await page.keyboard.press("i");
    expect((await saved).suggestedFilename().endsWith(".png"), "no picture");
    await page.keyboard.press("m");
    await sleep(1500);
    const film = page.waitForEvent("download");
    await page.keyboard.press("m");
    expect((await film).suggestedFilename().endsWith(".webm"), "no film");
    await page.close();
    await server.stop();
  },
};

for (const [name, test] of Object.entries(tests)) {
  if (parts.length && !parts.some((p) => name.includes(p))) continue;
  const start = Date.now();
  try {
    await test();
    passed++;
    console.log(`ok   live: ${name} (${((Date.now() - start) / 1000).toFixed(1)} s)`);
  } catch (e) {
    failed++;
    console.log(`FAIL live: ${name}\n     ${e.stack}`);
    for (const server of servers) console.log(server.log);
  }
  for (const context of browser.contexts()) await context.close();
  for (const server of [...servers]) await server.stop("SIGKILL");
}
await browser.close();
if (existsSync(work)) rmSync(work, { recursive: true, force: true });
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
