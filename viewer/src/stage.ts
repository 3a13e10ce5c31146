// What is on the screen: domain, ground, solids, bodies, and the liquid in one of three looks.
// WebGPU draws it where there is one, WebGL 2 otherwise.
import * as THREE from "three/webgpu";
import {
  cameraPosition,
  dot,
  float,
  Fn,
  fwidth,
  max,
  mix,
  normalize,
  normalWorld,
  positionWorld,
  pow,
  reflect,
  smoothstep,
  texture,
  uniform,
  varying,
  vec2,
  vec3,
  vec4,
} from "three/tsl";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
import { toCreasedNormals } from "three/examples/jsm/utils/BufferGeometryUtils.js";
import { colourTable } from "./colour";
import { Geometry, Hello, Mesh, ParticleFrame, Placement, SurfaceFrame } from "./protocol";
import { Particles } from "./particles";
import { ColourUniform, skyIn, SUN, Water } from "./water";

export type Look = "water" | "particles" | "surface";

/** What a pointer can hold. */
export interface Hit {
  kind: "solid" | "body";
  index: number;
  point: THREE.Vector3;
}

/** Whether a WebGPU is there that can do what the water needs. */
async function hasWebGPU(): Promise<boolean> {
  try {
    const adapter = await navigator.gpu?.requestAdapter();
    return adapter?.features.has("float32-filterable") ?? false;
  } catch {
    return false;
  }
}

/** A renderer by WebGPU or WebGL 2; `?webgl` in the address asks for the latter. */
async function makeRenderer(canvas: HTMLCanvasElement) {
  const forceWebGL = location.search.includes("webgl") || !(await hasWebGPU());
  const renderer = new THREE.WebGPURenderer({ canvas, antialias: true, forceWebGL });
  await renderer.init();
  // a card that fails at WebGPU may well do WebGL
  renderer.onDeviceLost = () => {
    if (!forceWebGL) location.search = "?webgl";
  };
  return renderer;
}

/** Balls in the colours of a scale. */
function ballMaterial(particles: Particles, radius: THREE.Node, least: THREE.Node) {
  const colours = new THREE.DataTexture(colourTable(), 256, 1);
  colours.colorSpace = THREE.SRGBColorSpace;
  colours.needsUpdate = true;
  const s = particles.spheres(radius, least);
  const material = new THREE.NodeMaterial();
  const value = varying(particles.value);
  material.vertexNode = s.vertex;
  material.depthNode = s.depth;
  material.fragmentNode = Fn(() => {
    s.r2.greaterThan(1).discard();
    const normal = vec3(s.across, s.front);
    const paint = texture(colours, vec2(value.mul(255 / 256).add(0.5 / 256), 0.5)).rgb;
    const light = dot(normal, normalize(vec3(0.3, 0.8, 0.5)))
      .mul(0.45)
      .add(0.6);
    return vec4(paint.mul(light), 1);
  })();
  return material;
}

/** The meshed surface: clear in front of the eye, a mirror of the sky at a slant. */
function surfaceMaterial(sky: ColourUniform) {
  const material = new THREE.MeshBasicNodeMaterial();
  const eye = normalize(cameraPosition.sub(positionWorld));
  const side = dot(normalWorld, eye);
  const normal = normalWorld.mul(side.sign());
  const fresnel = pow(float(1).sub(side.abs()), 5).mul(0.98).add(0.02);
  const sun = vec3(SUN.x, SUN.y, SUN.z);
  const body = mix(vec3(0.01, 0.09, 0.16), vec3(0.05, 0.28, 0.4), max(dot(normal, sun), 0));
  const mirrored = skyIn(reflect(eye.negate(), normal), sky);
  const glint = pow(max(dot(normal, normalize(eye.add(sun))), 0), 160);
  material.colorNode = mix(body, mirrored, fresnel).add(glint);
  material.opacityNode = fresnel.add(glint).mul(0.3).add(0.7);
  material.transparent = true;
  material.side = THREE.DoubleSide;
  return material;
}

/** Triangles that fill the outlines of a body in 2D, whose segments are triangles without area. */
export function fillOutlines(mesh: Mesh): Uint32Array {
  const next = new Map<number, number>();
  for (let i = 0; i < mesh.triangles.length; i += 3)
    next.set(mesh.triangles[i], mesh.triangles[i + 1]);
  const filled: number[] = [];
  while (next.size) {
    const loop: number[] = [];
    let [at] = next.keys();
    for (let to = next.get(at); to !== undefined; to = next.get(at)) {
      next.delete(at);
      loop.push(at);
      at = to;
    }
    const outline = loop.map(
      (i) => new THREE.Vector2(mesh.positions[3 * i], mesh.positions[3 * i + 1]),
    );
    for (const t of THREE.ShapeUtils.triangulateShape(outline, []))
      filled.push(loop[t[0]], loop[t[1]], loop[t[2]]);
  }
  return Uint32Array.from(filled);
}

/** A floor with lines every so many metres, which fades into the background. */
function groundMaterial(
  paint: ColourUniform,
  sky: ColourUniform,
  middle: THREE.Vector3,
  wide: number,
  lines: number,
) {
  const material = new THREE.MeshBasicNodeMaterial();
  const at = positionWorld.xz.div(lines);
  const off = at.sub(at.add(0.5).floor()).abs();
  const blur = fwidth(at).add(1e-5);
  const cover = max(
    float(1).sub(smoothstep(0, blur.x.mul(1.2), off.x)),
    float(1).sub(smoothstep(0, blur.y.mul(1.2), off.y)),
  );
  const away = positionWorld.xz.sub(vec2(middle.x, middle.z)).length().div(wide);
  const line = cover.mul(float(1).sub(smoothstep(0.05, 0.5, max(blur.x, blur.y)))).mul(0.28);
  material.colorNode = mix(
    mix(vec3(paint), vec3(sky).mul(0.35), line),
    vec3(sky),
    smoothstep(0.25, 1, away),
  );
  return material;
}

export class Stage {
  readonly camera = new THREE.PerspectiveCamera(36, 1, 0.01, 100);
  readonly controls: OrbitControls;
  look: Look = "water";
  private readonly scene = new THREE.Scene();
  private readonly fixed = new THREE.Group();
  private readonly solids: THREE.Mesh[] = [];
  private readonly bodies: THREE.Mesh[] = [];
  private readonly particles = new Particles();
  private readonly ballRadius = uniform(0.01);
  private readonly ballLeast = uniform(0.001);
  private readonly sky = uniform(new THREE.Color());
  private readonly floor = uniform(new THREE.Color());
  private readonly points: THREE.Mesh;
  private readonly surface: THREE.Mesh;
  private readonly water: Water;
  private radius = 0.01;
  private waterRadius = 0.01; // of the balls that water is made of
  private flat = false; // 2D
  private length = 1; // over which water takes on its colour, m
  positions: Float32Array = new Float32Array(0); // of particles, m
  private newest: "particles" | "surface" = "particles"; // what came last

  static async create(canvas: HTMLCanvasElement) {
    return new Stage(canvas, await makeRenderer(canvas));
  }

  private constructor(
    readonly canvas: HTMLCanvasElement,
    readonly renderer: THREE.WebGPURenderer,
  ) {
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.enableDamping = false;
    this.points = new THREE.Mesh(
      this.particles.geometry,
      ballMaterial(this.particles, this.ballRadius, this.ballLeast),
    );
    this.points.frustumCulled = false;
    this.surface = new THREE.Mesh(new THREE.BufferGeometry(), surfaceMaterial(this.sky));
    this.surface.frustumCulled = false;
    this.water = new Water(this.particles, this.sky);
    this.scene.add(this.fixed, this.points, this.surface);
    this.scene.add(new THREE.HemisphereLight(0xffffff, 0x8090a0, 2.2));
    const sun = new THREE.DirectionalLight(0xffffff, 1.6);
    sun.position.copy(SUN);
    this.scene.add(sun);
  }

  /** What draws: "WebGPU" or "WebGL 2". */
  get backend() {
    const { backend } = this.renderer as unknown as { backend: { isWebGPUBackend?: boolean } };
    return backend.isWebGPUBackend ? "WebGPU" : "WebGL 2";
  }

  /** Sets the stage for a scene; the camera stays where it is when it is the same one. */
  begin(hello: Hello, again: boolean) {
    this.flat = hello.dim === 2;
    const [x, y, z] = hello.size;
    const cell = x / hello.cells[0];
    const deep = hello.dim === 3 ? z : cell;
    const perEdge = hello.perCell ** (1 / hello.dim);
    this.radius = (0.62 * cell) / perEdge;
    this.particles.growth.value = perEdge;
    // in 2D one layer of particles is all the water there is, seen from the front
    this.length = this.flat ? (5 * cell) / perEdge : 0.35 * Math.max(x, y, deep);
    this.waterRadius = (this.flat ? 2 : 1.25) * this.radius;
    this.controls.mouseButtons.LEFT = this.flat ? THREE.MOUSE.PAN : THREE.MOUSE.ROTATE;
    this.controls.touches.ONE = this.flat ? THREE.TOUCH.PAN : THREE.TOUCH.ROTATE;
    this.fixed.clear();
    const box = new THREE.LineSegments(
      new THREE.EdgesGeometry(new THREE.BoxGeometry(x, y, deep)),
      new THREE.LineBasicMaterial({ color: 0x8899a6, transparent: true, opacity: 0.6 }),
    );
    box.position.set(x / 2, y / 2, hello.dim === 3 ? z / 2 : 0);
    const wide = 2.2 * Math.hypot(x, hello.dim === 3 ? z : 0);
    const lines = 10 ** Math.floor(Math.log10(Math.max(x, y, deep)) - 0.3);
    const ground = new THREE.Mesh(
      new THREE.CircleGeometry(wide, 64),
      groundMaterial(this.floor, this.sky, new THREE.Vector3(x / 2, 0, deep / 2), wide, lines),
    );
    ground.rotation.x = -Math.PI / 2;
    // below the balls that rest on the floor: it must not cut them
    ground.position.set(x / 2, -this.waterRadius, hello.dim === 3 ? z / 2 : 0);
    this.fixed.add(box, ground);
    if (!again) this.aim(hello);
  }

  /** The camera that shows all of the domain. */
  aim(hello: Hello) {
    const [x, y, z] = hello.size;
    const depth = hello.dim === 3 ? z : 0;
    const middle = new THREE.Vector3(x / 2, 0.42 * y, depth / 2);
    const far = (0.5 * Math.hypot(x, y, depth)) / Math.tan((0.5 * this.camera.fov * Math.PI) / 180);
    const narrow = Math.max(1, 1.1 / this.camera.aspect);
    const from =
      hello.dim === 3 ? new THREE.Vector3(0.42, 0.36, 0.83) : new THREE.Vector3(0, 0.02, 1);
    this.camera.position.copy(middle).addScaledVector(from.normalize(), 1.05 * far * narrow);
    this.camera.near = far / 100;
    this.camera.far = far * 20;
    this.camera.updateProjectionMatrix();
    this.controls.target.copy(middle);
    this.controls.update();
  }

  /** Moves the camera around what it looks at, by angles; a positive one goes right or up. In 2D it
   * goes along. */
  turn(right: number, up: number) {
    const from = this.camera.position.clone().sub(this.controls.target);
    if (this.flat) {
      const way = new THREE.Vector3(right, up, 0).multiplyScalar(from.length());
      this.camera.position.add(way);
      this.controls.target.add(way);
      this.controls.update();
      return;
    }
    const way = new THREE.Spherical().setFromVector3(from);
    way.theta += right;
    way.phi -= up;
    from.setFromSpherical(way.makeSafe());
    this.camera.position.copy(this.controls.target).add(from);
    this.controls.update();
  }

  /** Changes the distance to what the camera looks at, by a factor. */
  approach(factor: number) {
    const { target } = this.controls;
    this.camera.position.sub(target).multiplyScalar(factor).add(target);
    this.controls.update();
  }

  setDark(dark: boolean) {
    this.sky.value.set(dark ? 0x14181c : 0xeef2f5);
    this.renderer.setClearColor(this.sky.value);
    this.floor.value.set(dark ? 0x323a42 : 0xd3d8dc);
  }

  /** Solids are smooth where their shape is; the vertices of bodies move, so they show facets. */
  private addMesh(mesh: Mesh, colour: number, smooth: boolean, to: THREE.Mesh[]) {
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute("position", new THREE.BufferAttribute(mesh.positions, 3));
    geometry.setIndex(new THREE.BufferAttribute(mesh.triangles, 1));
    const made = new THREE.Mesh(
      smooth ? toCreasedNormals(geometry, 0.7) : geometry,
      new THREE.MeshStandardMaterial({
        color: colour,
        roughness: 0.7,
        flatShading: !smooth,
        side: THREE.DoubleSide,
      }),
    );
    made.frustumCulled = false;
    to.push(made);
    this.scene.add(made);
  }

  setGeometry(geometry: Geometry) {
    for (const mesh of [...this.solids, ...this.bodies]) {
      this.scene.remove(mesh);
      mesh.geometry.dispose();
    }
    this.solids.length = this.bodies.length = 0;
    for (const mesh of geometry.solids) this.addMesh(mesh, 0xb9a88f, true, this.solids);
    for (const mesh of geometry.bodies) {
      const triangles = this.flat ? fillOutlines(mesh) : mesh.triangles;
      this.addMesh({ ...mesh, triangles }, 0xd9773f, false, this.bodies);
    }
  }

  private place(solids: Placement[], bodies: Float32Array[]) {
    solids.forEach((s, i) => {
      const mesh = this.solids[i];
      if (!mesh) return;
      const r = s.rotation;
      const p = s.position;
      mesh.visible = s.present;
      mesh.matrixAutoUpdate = false;
      mesh.matrix.set(
        ...([r[0], r[1], r[2], p[0], r[3], r[4], r[5], p[1]] as const),
        ...([r[6], r[7], r[8], p[2], 0, 0, 0, 1] as const),
      );
      mesh.matrixWorldNeedsUpdate = true;
    });
    bodies.forEach((vertices, i) => {
      const at = this.bodies[i]?.geometry.getAttribute("position") as THREE.BufferAttribute;
      if (!at || at.array.length !== vertices.length) return;
      (at.array as Float32Array).set(vertices);
      at.needsUpdate = true;
      this.bodies[i].geometry.boundingSphere = null;
    });
  }

  showParticles(frame: ParticleFrame) {
    this.newest = "particles";
    this.positions = frame.positions;
    this.particles.set(frame.positions, frame.values, frame.below);
    this.place(frame.solids, frame.bodies);
  }

  showSurface(frame: SurfaceFrame) {
    this.newest = "surface";
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute("position", new THREE.BufferAttribute(frame.positions, 3));
    geometry.setAttribute("normal", new THREE.BufferAttribute(frame.normals, 3));
    geometry.setIndex(new THREE.BufferAttribute(frame.triangles, 1));
    this.surface.geometry.dispose();
    this.surface.geometry = geometry;
    this.place(frame.solids, frame.bodies);
  }

  /** Fits the picture to its place; `quality` is the share of the screen's pixels along an edge. */
  resize(quality = 1) {
    const ratio = Math.min(window.devicePixelRatio, 2) * quality;
    const width = Math.max(this.canvas.clientWidth, 16);
    const height = Math.max(this.canvas.clientHeight, 16);
    this.renderer.setPixelRatio(ratio);
    this.renderer.setSize(width, height, false);
    this.water.resize(Math.floor(width * ratio), Math.floor(height * ratio));
    this.camera.aspect = width / height;
    this.camera.updateProjectionMatrix();
  }

  /** What can be drawn: until a look's first frame comes, the other one stays. */
  private get drawn(): Look {
    if (this.newest === "surface") return "surface";
    return this.look === "surface" ? "water" : this.look;
  }

  render() {
    const look = this.drawn;
    const any = this.particles.count > 0;
    this.points.visible = look === "particles" && any;
    this.surface.visible = look === "surface" && this.surface.geometry.index !== null;
    const height = this.renderer.getDrawingBufferSize(new THREE.Vector2()).y;
    this.ballRadius.value = this.radius;
    this.ballLeast.value = 1.5 / (height * this.camera.projectionMatrix.elements[5]);
    if (look === "water" && any) {
      this.water.render(this.renderer, this.scene, this.camera, this.waterRadius, this.length);
    } else {
      this.renderer.setRenderTarget(null);
      this.renderer.render(this.scene, this.camera);
    }
  }

  // ------------------------------------------------------------------------------- pointing

  /** The ray under a place of the canvas, in pixels of the page. */
  ray(clientX: number, clientY: number): THREE.Ray {
    const box = this.canvas.getBoundingClientRect();
    const caster = new THREE.Raycaster();
    const x = (2 * (clientX - box.left)) / box.width - 1;
    const y = 1 - (2 * (clientY - box.top)) / box.height;
    caster.setFromCamera(new THREE.Vector2(x, y), this.camera);
    return caster.ray;
  }

  /** The solid or body under a ray. */
  hit(ray: THREE.Ray): Hit | undefined {
    const caster = new THREE.Raycaster(ray.origin, ray.direction);
    const found = caster.intersectObjects([...this.bodies, ...this.solids], false)[0];
    if (!found) return undefined;
    const body = this.bodies.indexOf(found.object as THREE.Mesh);
    const index = body >= 0 ? body : this.solids.indexOf(found.object as THREE.Mesh);
    return { kind: body >= 0 ? "body" : "solid", index, point: found.point };
  }

  /** The first liquid that a ray meets. */
  hitWater(ray: THREE.Ray): THREE.Vector3 | undefined {
    const { origin: o, direction: d } = ray;
    const reach = (2 * this.radius) ** 2;
    const p = this.positions;
    let nearest = Infinity;
    for (let i = 0; i < p.length; i += 3) {
      const x = p[i] - o.x;
      const y = p[i + 1] - o.y;
      const z = p[i + 2] - o.z;
      const along = x * d.x + y * d.y + z * d.z;
      if (along <= 0 || along >= nearest) continue;
      if (x * x + y * y + z * z - along * along < reach) nearest = along;
    }
    return nearest < Infinity ? ray.at(nearest, new THREE.Vector3()) : undefined;
  }

  /** Where a ray meets the plane through a point that faces the camera. */
  onPlane(ray: THREE.Ray, through: THREE.Vector3): THREE.Vector3 | undefined {
    const facing = this.camera.getWorldDirection(new THREE.Vector3());
    const plane = new THREE.Plane().setFromNormalAndCoplanarPoint(facing, through);
    return ray.intersectPlane(plane, new THREE.Vector3()) ?? undefined;
  }
}
