// Water from particles on the screen: depth of spheres, smoothed within a narrow range (Truong and
// Yuksel 2018), normals from it, refraction of what is behind, colour by thickness.
import * as THREE from "three";

const POINT_VERTEX = /* glsl */ `
uniform float radius, scale;
out vec3 centre;
void main() {
  vec4 view = modelViewMatrix * vec4(position, 1.0);
  centre = view.xyz;
  gl_Position = projectionMatrix * view;
  gl_PointSize = max(scale * radius / -view.z, 1.5);
}`;

/** Distance from the eye along its axis; nothing is 0. */
const DEPTH_FRAGMENT = /* glsl */ `
uniform float radius;
uniform mat4 projectionMatrix;
in vec3 centre;
out vec4 colour;
void main() {
  vec2 p = 2.0 * gl_PointCoord - 1.0;
  float r2 = dot(p, p);
  if (r2 > 1.0) discard;
  float z = centre.z + radius * sqrt(1.0 - r2);
  vec4 clip = projectionMatrix * vec4(centre.xy, z, 1.0);
  gl_FragDepth = 0.5 * clip.z / clip.w + 0.5;
  colour = vec4(-z, 0.0, 0.0, 1.0);
}`;

const THICKNESS_FRAGMENT = /* glsl */ `
uniform float radius;
in vec3 centre;
out vec4 colour;
void main() {
  vec2 p = 2.0 * gl_PointCoord - 1.0;
  float r2 = dot(p, p);
  if (r2 > 1.0) discard;
  colour = vec4(radius * sqrt(1.0 - r2), 0.0, 0.0, 1.0);
}`;

const SCREEN_VERTEX = /* glsl */ `
out vec2 place;
void main() {
  place = uv;
  gl_Position = vec4(position.xy, 0.0, 1.0);
}`;

/** One direction of the filter. Depths far behind count as a little behind, those far in front not
 * at all, so that edges stay. */
const SMOOTH_FRAGMENT = /* glsl */ `
uniform sampler2D depth;
uniform vec2 along;
uniform float radius, scale;
in vec2 place;
out vec4 colour;
void main() {
  float here = texture(depth, place).r;
  colour = vec4(here, 0.0, 0.0, 1.0);
  if (here <= 0.0) return;
  float reach = clamp(1.6 * scale * radius / here, 1.0, 24.0);
  float low = here - 3.0 * radius, high = here + 3.0 * radius;
  float sum = here, weight = 1.0;
  for (float i = 1.0; i <= 24.0; i += 1.0) {
    if (i > reach) break;
    float w = exp(-2.0 * i * i / (reach * reach));
    float a = texture(depth, place + i * along).r, b = texture(depth, place - i * along).r;
    bool wet = a > low && b > low && a > 0.0 && b > 0.0;
    if (!wet) continue;
    if (a > high || b > high) { a = min(a, high); b = min(b, high); w *= 0.5; }
    sum += w * (a + b);
    weight += 2.0 * w;
  }
  colour.r = sum / weight;
}`;

const COMPOSE_FRAGMENT = /* glsl */ `
uniform sampler2D depth, thickness, behind, behindDepth;
uniform mat4 inverseProjection, cameraWorld;
uniform vec2 pixel;
uniform float near, far, length0;
uniform vec3 sky, absorb;
in vec2 place;
out vec4 colour;

vec3 viewAt(vec2 at, float z) {
  vec4 ray = inverseProjection * vec4(2.0 * at - 1.0, 1.0, 1.0);
  vec3 r = ray.xyz / ray.w;
  return r * (z / -r.z);
}
float sceneDepth(vec2 at) {
  float d = 2.0 * texture(behindDepth, at).r - 1.0;
  return 2.0 * near * far / (far + near - d * (far - near));
}
vec3 slope(vec2 step, vec3 here) {
  float a = texture(depth, place + step).r, b = texture(depth, place - step).r;
  vec3 ahead = viewAt(place + step, a) - here, back = here - viewAt(place - step, b);
  if (a <= 0.0) return back;
  if (b <= 0.0) return ahead;
  return abs(ahead.z) < abs(back.z) ? ahead : back;
}
vec3 toScreen(vec3 c) {
  return mix(12.92 * c, 1.055 * pow(max(c, vec3(0.0)), vec3(1.0 / 2.4)) - 0.055,
             step(vec3(0.0031308), c));
}
void main() {
  float z = texture(depth, place).r;
  vec3 back = texture(behind, place).rgb;
  if (z <= 0.0 || z > sceneDepth(place)) {
    colour = vec4(toScreen(back), 1.0);
    return;
  }
  vec3 here = viewAt(place, z);
  vec3 normal = normalize(cross(slope(vec2(pixel.x, 0.0), here), slope(vec2(0.0, pixel.y), here)));
  if (normal.z < 0.0) normal = -normal;
  vec3 eye = normalize(-here);
  float facing = clamp(dot(normal, eye), 0.0, 1.0);
  float fresnel = 0.02 + 0.98 * pow(1.0 - facing, 5.0);
  float thick = 2.0 * texture(thickness, place).r / length0;
  vec2 bent = place - 0.08 * normal.xy * clamp(thick, 0.0, 1.0);
  if (sceneDepth(bent) < z) bent = place;
  vec3 through = texture(behind, bent).rgb * exp(-absorb * thick);
  through += vec3(0.02, 0.11, 0.16) * (1.0 - exp(-1.5 * thick));
  vec3 up = (cameraWorld * vec4(reflect(-eye, normal), 0.0)).xyz;
  vec3 mirrored = mix(0.5 * sky, vec3(0.95, 0.98, 1.0), smoothstep(-0.2, 0.8, up.y));
  vec3 sun = normalize((transpose(cameraWorld) * vec4(0.4, 0.8, 0.45, 0.0)).xyz);
  float glint = pow(max(dot(normal, normalize(sun + eye)), 0.0), 120.0);
  vec3 lit = mix(through * (0.75 + 0.25 * max(dot(normal, sun), 0.0)), mirrored, fresnel) + glint;
  colour = vec4(toScreen(lit), 1.0);
}`;

function material(vertexShader: string, fragmentShader: string, more: object = {}) {
  return new THREE.ShaderMaterial({
    glslVersion: THREE.GLSL3,
    vertexShader,
    fragmentShader,
    ...more,
  });
}

const uniforms = (values: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, { value }]));

/** Draws a frame: a scene of everything but water, and particles as water over it. */
export class Water {
  private readonly depthMaterial = material(POINT_VERTEX, DEPTH_FRAGMENT, {
    uniforms: uniforms({ radius: 1, scale: 1 }),
  });
  private readonly thicknessMaterial = material(POINT_VERTEX, THICKNESS_FRAGMENT, {
    uniforms: uniforms({ radius: 1, scale: 1 }),
    blending: THREE.AdditiveBlending,
    depthTest: false,
    depthWrite: false,
    transparent: true,
  });
  private readonly smoothMaterial = material(SCREEN_VERTEX, SMOOTH_FRAGMENT, {
    uniforms: uniforms({ depth: null, along: new THREE.Vector2(), radius: 1, scale: 1 }),
    depthTest: false,
    depthWrite: false,
  });
  private readonly composeMaterial = material(SCREEN_VERTEX, COMPOSE_FRAGMENT, {
    uniforms: uniforms({
      depth: null,
      thickness: null,
      behind: null,
      behindDepth: null,
      inverseProjection: new THREE.Matrix4(),
      cameraWorld: new THREE.Matrix4(),
      pixel: new THREE.Vector2(),
      near: 0,
      far: 1,
      length0: 1,
      sky: new THREE.Color(),
      absorb: new THREE.Vector3(2.2, 0.55, 0.3),
    }),
    depthTest: false,
    depthWrite: false,
  });
  private readonly screen = new THREE.Mesh(new THREE.PlaneGeometry(2, 2));
  private readonly flat = new THREE.Scene();
  private readonly wet = new THREE.Scene();
  private readonly points: THREE.Points;
  private depth = [this.target(1, THREE.FloatType), this.target(1, THREE.FloatType, false)];
  private thickness = this.target(1, THREE.HalfFloatType, false);
  private behind = this.target(1, THREE.HalfFloatType);

  constructor(geometry: THREE.BufferGeometry) {
    this.points = new THREE.Points(geometry, this.depthMaterial);
    this.points.frustumCulled = this.screen.frustumCulled = false;
    this.wet.add(this.points);
    this.flat.add(this.screen);
    this.behind.depthTexture = new THREE.DepthTexture(1, 1);
  }

  private target(size: number, type: THREE.TextureDataType, depthBuffer = true) {
    const filter = type === THREE.FloatType ? THREE.NearestFilter : THREE.LinearFilter;
    return new THREE.WebGLRenderTarget(size, size, {
      type,
      format: type === THREE.FloatType ? THREE.RedFormat : THREE.RGBAFormat,
      minFilter: filter,
      magFilter: filter,
      depthBuffer,
    });
  }

  resize(width: number, height: number) {
    for (const target of this.depth) target.setSize(width, height);
    this.behind.setSize(width, height);
    this.thickness.setSize(Math.ceil(width / 2), Math.ceil(height / 2));
  }

  private pass(renderer: THREE.WebGLRenderer, what: THREE.Material, to: THREE.RenderTarget | null) {
    this.screen.material = what;
    renderer.setRenderTarget(to as THREE.WebGLRenderTarget | null);
    renderer.render(this.flat, this.noCamera);
  }
  private readonly noCamera = new THREE.Camera();

  render(
    renderer: THREE.WebGLRenderer,
    scene: THREE.Scene,
    camera: THREE.PerspectiveCamera,
    radius: number,
    length: number,
  ) {
    const { width, height } = this.behind;
    const clear = renderer.getClearColor(new THREE.Color());
    renderer.setRenderTarget(this.behind);
    renderer.render(scene, camera);
    renderer.setClearColor(0x000000, 0);
    this.points.matrixAutoUpdate = false;
    const scale = height * camera.projectionMatrix.elements[5];
    for (const m of [this.depthMaterial, this.thicknessMaterial, this.smoothMaterial])
      m.uniforms.radius.value = radius;
    this.depthMaterial.uniforms.scale.value = scale;
    this.smoothMaterial.uniforms.scale.value = scale;
    this.thicknessMaterial.uniforms.scale.value = scale / 2;

    this.points.material = this.depthMaterial;
    renderer.setRenderTarget(this.depth[0]);
    renderer.render(this.wet, camera);
    this.points.material = this.thicknessMaterial;
    renderer.setRenderTarget(this.thickness);
    renderer.render(this.wet, camera);

    const smooth = this.smoothMaterial.uniforms;
    for (let i = 0; i < 4; i++) {
      smooth.depth.value = this.depth[i % 2].texture;
      smooth.along.value.set(i % 2 ? 0 : 1 / width, i % 2 ? 1 / height : 0);
      this.pass(renderer, this.smoothMaterial, this.depth[1 - (i % 2)]);
    }
    const u = this.composeMaterial.uniforms;
    u.depth.value = this.depth[0].texture;
    u.thickness.value = this.thickness.texture;
    u.behind.value = this.behind.texture;
    u.behindDepth.value = this.behind.depthTexture;
    u.inverseProjection.value.copy(camera.projectionMatrixInverse);
    u.cameraWorld.value.copy(camera.matrixWorld);
    u.pixel.value.set(1 / width, 1 / height);
    u.near.value = camera.near;
    u.far.value = camera.far;
    u.length0.value = length;
    u.sky.value.copy(clear);
    this.pass(renderer, this.composeMaterial, null);
    renderer.setClearColor(clear, 1);
  }
}
