// What is on the screen: domain, ground, solids, bodies, and the liquid in one of three looks.
import * as THREE from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
import { colourTable } from "./colour";
import { Geometry, Hello, Mesh, ParticleFrame, Placement, SurfaceFrame } from "./protocol";
import { Water } from "./water";

export type Look = "water" | "particles" | "surface";

/** What a pointer can hold. */
export interface Hit {
  kind: "solid" | "body";
  index: number;
  point: THREE.Vector3;
}

const SPHERE_VERTEX = /* glsl */ `
uniform float radius, scale;
uniform sampler2D colours;
in float value;
out vec3 centre, paint;
void main() {
  vec4 view = modelViewMatrix * vec4(position, 1.0);
  centre = view.xyz;
  paint = texture(colours, vec2(value * (255.0 / 256.0) + 0.5 / 256.0, 0.5)).rgb;
  gl_Position = projectionMatrix * view;
  gl_PointSize = max(scale * radius / -view.z, 1.5);
}`;

const SPHERE_FRAGMENT = /* glsl */ `
uniform float radius;
uniform mat4 projectionMatrix;
in vec3 centre, paint;
out vec4 colour;
void main() {
  vec2 p = 2.0 * gl_PointCoord - 1.0;
  float r2 = dot(p, p);
  if (r2 > 1.0) discard;
  vec3 normal = vec3(p.x, -p.y, sqrt(1.0 - r2));
  vec4 clip = projectionMatrix * vec4(centre.xy, centre.z + radius * normal.z, 1.0);
  gl_FragDepth = 0.5 * clip.z / clip.w + 0.5;
  colour = vec4(paint * (0.72 + 0.28 * dot(normal, normalize(vec3(0.3, 0.8, 0.5)))), 1.0);
}`;

export class Stage {
  readonly renderer: THREE.WebGLRenderer;
  readonly camera = new THREE.PerspectiveCamera(36, 1, 0.01, 100);
  readonly controls: OrbitControls;
  look: Look = "water";
  private readonly scene = new THREE.Scene();
  private readonly fixed = new THREE.Group();
  private readonly solids: THREE.Mesh[] = [];
  private readonly bodies: THREE.Mesh[] = [];
  private readonly particles = new THREE.BufferGeometry();
  private readonly points: THREE.Points<THREE.BufferGeometry, THREE.ShaderMaterial>;
  private readonly surface: THREE.Mesh;
  private readonly water: Water;
  private radius = 0.01;
  private length = 1; // over which water takes on its colour, m
  private dark = false;
  positions: Float32Array = new Float32Array(0); // of particles, m

  constructor(readonly canvas: HTMLCanvasElement) {
    this.renderer = new THREE.WebGLRenderer({
      canvas,
      antialias: true,
      preserveDrawingBuffer: true,
    });
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.enableDamping = false;
    const colours = new THREE.DataTexture(colourTable(), 256, 1);
    colours.colorSpace = THREE.NoColorSpace;
    colours.needsUpdate = true;
    this.points = new THREE.Points(
      this.particles,
      new THREE.ShaderMaterial({
        glslVersion: THREE.GLSL3,
        vertexShader: SPHERE_VERTEX,
        fragmentShader: SPHERE_FRAGMENT,
        uniforms: { radius: { value: 1 }, scale: { value: 1 }, colours: { value: colours } },
      }),
    );
    this.points.frustumCulled = false;
    this.surface = new THREE.Mesh(
      new THREE.BufferGeometry(),
      new THREE.MeshPhysicalMaterial({
        color: 0x2a86b8,
        roughness: 0.12,
        transparent: true,
        opacity: 0.82,
        side: THREE.DoubleSide,
      }),
    );
    this.surface.frustumCulled = false;
    this.water = new Water(this.particles);
    this.scene.add(this.fixed, this.points, this.surface);
    this.scene.add(new THREE.HemisphereLight(0xffffff, 0x8090a0, 2.2));
    const sun = new THREE.DirectionalLight(0xffffff, 1.6);
    sun.position.set(0.4, 0.8, 0.45);
    this.scene.add(sun);
  }

  /** Sets the stage for a scene; the camera stays where it is when it is the same one. */
  begin(hello: Hello, again: boolean) {
    const [x, y, z] = hello.size;
    const cell = x / hello.cells[0];
    const deep = hello.dim === 3 ? z : cell;
    const perEdge = hello.perCell ** (1 / hello.dim);
    this.radius = (0.62 * cell) / perEdge;
    this.length = 0.35 * Math.max(x, y, deep);
    this.fixed.clear();
    const box = new THREE.LineSegments(
      new THREE.EdgesGeometry(new THREE.BoxGeometry(x, y, deep)),
      new THREE.LineBasicMaterial({ color: 0x8899a6, transparent: true, opacity: 0.6 }),
    );
    box.position.set(x / 2, y / 2, hello.dim === 3 ? z / 2 : 0);
    const ground = new THREE.Mesh(
      new THREE.PlaneGeometry(x * 3, hello.dim === 3 ? z * 3 : x * 0.4),
      new THREE.MeshStandardMaterial({ color: this.dark ? 0x3a4148 : 0xd8dcdf, roughness: 1 }),
    );
    ground.rotation.x = -Math.PI / 2;
    ground.position.set(x / 2, -0.004 * y, hello.dim === 3 ? z / 2 : 0);
    ground.name = "ground";
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

  setDark(dark: boolean) {
    this.dark = dark;
    this.renderer.setClearColor(dark ? 0x14181c : 0xeef2f5);
    const ground = this.fixed.getObjectByName("ground") as THREE.Mesh | undefined;
    (ground?.material as THREE.MeshStandardMaterial | undefined)?.color.set(
      dark ? 0x3a4148 : 0xd8dcdf,
    );
  }

  private addMesh(mesh: Mesh, colour: number, to: THREE.Mesh[]) {
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute("position", new THREE.BufferAttribute(mesh.positions, 3));
    geometry.setIndex(new THREE.BufferAttribute(mesh.triangles, 1));
    const body = new THREE.Mesh(
      geometry,
      new THREE.MeshStandardMaterial({
        color: colour,
        roughness: 0.75,
        flatShading: true,
        side: THREE.DoubleSide,
      }),
    );
    body.frustumCulled = false;
    to.push(body);
    this.scene.add(body);
  }

  setGeometry(geometry: Geometry) {
    for (const mesh of [...this.solids, ...this.bodies]) {
      this.scene.remove(mesh);
      mesh.geometry.dispose();
    }
    this.solids.length = this.bodies.length = 0;
    for (const mesh of geometry.solids) this.addMesh(mesh, 0xb9a88f, this.solids);
    for (const mesh of geometry.bodies) this.addMesh(mesh, 0xd9773f, this.bodies);
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

  /** Room that is used again from frame to frame. */
  private attribute(name: string, values: Float32Array | Uint8Array, size: number) {
    const before = this.particles.getAttribute(name) as THREE.BufferAttribute | undefined;
    if (before && before.array.length >= values.length) {
      (before.array as Float32Array).set(values);
      before.clearUpdateRanges();
      before.addUpdateRange(0, values.length);
      before.needsUpdate = true;
      return;
    }
    const room = Math.ceil((values.length / size) * 1.2) * size;
    const array = values instanceof Uint8Array ? new Uint8Array(room) : new Float32Array(room);
    array.set(values);
    const made = new THREE.BufferAttribute(array, size, values instanceof Uint8Array);
    made.setUsage(THREE.DynamicDrawUsage);
    this.particles.setAttribute(name, made);
  }

  showParticles(frame: ParticleFrame) {
    this.positions = frame.positions;
    this.attribute("position", frame.positions, 3);
    this.attribute("value", frame.values, 1);
    this.particles.setDrawRange(0, frame.values.length);
    this.place(frame.solids, frame.bodies);
  }

  showSurface(frame: SurfaceFrame) {
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute("position", new THREE.BufferAttribute(frame.positions, 3));
    geometry.setAttribute("normal", new THREE.BufferAttribute(frame.normals, 3));
    geometry.setIndex(new THREE.BufferAttribute(frame.triangles, 1));
    this.surface.geometry.dispose();
    this.surface.geometry = geometry;
    this.place(frame.solids, frame.bodies);
  }

  resize() {
    const ratio = Math.min(window.devicePixelRatio, 2);
    const width = Math.max(this.canvas.clientWidth, 16);
    const height = Math.max(this.canvas.clientHeight, 16);
    this.renderer.setPixelRatio(ratio);
    this.renderer.setSize(width, height, false);
    this.water.resize(Math.floor(width * ratio), Math.floor(height * ratio));
    this.camera.aspect = width / height;
    this.camera.updateProjectionMatrix();
  }

  render() {
    this.points.visible = this.look === "particles";
    this.surface.visible = this.look === "surface";
    const height = this.renderer.getDrawingBufferSize(new THREE.Vector2()).y;
    const u = this.points.material.uniforms;
    u.radius.value = this.radius;
    u.scale.value = height * this.camera.projectionMatrix.elements[5];
    if (this.look === "water") {
      this.water.render(this.renderer, this.scene, this.camera, 1.25 * this.radius, this.length);
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
