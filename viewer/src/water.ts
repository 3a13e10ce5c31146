// Water from particles on the screen: depth of spheres, smoothed within a narrow range (Truong and
// Yuksel 2018), normals from it, refraction of what is behind, colour by thickness. Shaders are
// written once, in three.js's shading language, for WebGPU and WebGL 2.
import * as THREE from "three/webgpu";
import {
  Break,
  clamp,
  cross,
  dot,
  exp,
  float,
  Fn,
  If,
  int,
  Loop,
  max,
  min,
  mix,
  normalize,
  positionView,
  pow,
  reflect,
  smoothstep,
  texture,
  uniform,
  uv,
  vec2,
  vec3,
  vec4,
} from "three/tsl";
import type { Particles } from "./particles";

/** Towards the sun, in the world. */
export const SUN = new THREE.Vector3(0.4, 0.8, 0.45).normalize();
export type ColourUniform = THREE.ShaderNodeObject<THREE.UniformNode<THREE.Color>>;
const NOTHING = new THREE.Color(0);
const BLUR = 2.5; // size of the balls that give thickness
const REACH = 24; // pixels that the filter reaches at most

/** The sky in a direction of the world, as water mirrors it. */
export const skyIn = Fn(([direction, low]: [THREE.ShaderNodeObject<THREE.Node>, THREE.Node]) =>
  mix(vec3(low).mul(0.55), vec3(0.9, 0.95, 1), smoothstep(-0.25, 0.85, direction.y)),
);

/** Draws a frame: a scene of everything but water, and particles as water over it. */
export class Water {
  private readonly radius = uniform(1);
  private readonly least = uniform(0);
  private readonly scale = uniform(1); // pixels a metre at a distance of one
  private readonly along = uniform(new THREE.Vector2());
  private readonly pixel = uniform(new THREE.Vector2());
  private readonly length = uniform(1);
  private readonly lens = uniform(new THREE.Vector2()); // bends by this, of the screen at 1 m a metre
  private readonly sun = uniform(new THREE.Vector3()); // towards it, from the eye
  private readonly unproject = uniform(new THREE.Matrix4());
  private readonly toWorld = uniform(new THREE.Matrix4());
  private readonly depth = [this.target(THREE.FloatType, true), this.target(THREE.FloatType)];
  private readonly solid = this.target(THREE.FloatType, true); // depth of all else
  private readonly thickness = this.target(THREE.HalfFloatType);
  private readonly behind = this.target(THREE.HalfFloatType, true);
  private readonly wet = new THREE.Scene();
  private readonly points: THREE.Mesh;
  private readonly depthMaterial = new THREE.NodeMaterial();
  private readonly thicknessMaterial = new THREE.NodeMaterial();
  private readonly solidMaterial = new THREE.NodeMaterial();
  private readonly smooth: THREE.QuadMesh[];
  private readonly compose: THREE.QuadMesh;

  constructor(
    particles: Particles,
    private readonly sky: ColourUniform,
  ) {
    const s = particles.spheres(this.radius, this.least);
    const blob = particles.spheres(this.radius.mul(BLUR), this.least.mul(BLUR));
    // Distances from the eye along its axis; 0: nothing.
    this.depthMaterial.vertexNode = s.vertex;
    this.depthMaterial.depthNode = s.depth;
    this.depthMaterial.fragmentNode = Fn(() => {
      s.r2.greaterThan(1).discard();
      return vec4(s.z.negate(), 0, 0, 1);
    })();
    this.solidMaterial.fragmentNode = vec4(positionView.z.negate(), 0, 0, 1);
    this.solidMaterial.side = THREE.DoubleSide;
    // as much volume as the spheres have, spread over larger ones: even where they are not
    this.thicknessMaterial.vertexNode = blob.vertex;
    this.thicknessMaterial.fragmentNode = Fn(() => {
      blob.r2.greaterThan(1).discard();
      return vec4(blob.radius.mul(blob.front).mul(2 / BLUR ** 3), 0, 0, 1);
    })();
    this.thicknessMaterial.blending = THREE.AdditiveBlending;
    this.thicknessMaterial.depthTest = this.thicknessMaterial.depthWrite = false;
    this.thicknessMaterial.transparent = true;
    this.points = new THREE.Mesh(particles.geometry, this.depthMaterial);
    this.points.frustumCulled = false;
    this.wet.add(this.points);
    this.smooth = this.depth.map((from) => this.screen(this.smoothed(from.texture)));
    this.compose = this.screen(this.composed());
  }

  private screen(fragment: THREE.Node) {
    const material = new THREE.NodeMaterial();
    material.fragmentNode = fragment;
    material.depthTest = material.depthWrite = false;
    return new THREE.QuadMesh(material);
  }

  private target(type: THREE.TextureDataType, depthBuffer = false) {
    const float = type === THREE.FloatType;
    return new THREE.RenderTarget(1, 1, {
      type,
      format: float ? THREE.RedFormat : THREE.RGBAFormat,
      minFilter: float ? THREE.NearestFilter : THREE.LinearFilter,
      magFilter: float ? THREE.NearestFilter : THREE.LinearFilter,
      depthBuffer,
    });
  }

  /** One direction of the filter. Depths far behind count as a little behind, those far in front not
   * at all, so that edges stay. */
  private smoothed(from: THREE.Texture) {
    const read = (at: THREE.Node) => texture(from, at).level(int(0)).r;
    return Fn(() => {
      const here = read(uv()).toVar();
      const sum = here.toVar();
      const weight = float(1).toVar();
      If(here.greaterThan(0), () => {
        const reach = clamp(this.scale.mul(this.radius).mul(2.6).div(here), 1, REACH).toVar();
        const low = here.sub(this.radius.mul(3)).toVar();
        const high = here.add(this.radius.mul(3)).toVar();
        Loop(
          { start: 1, end: REACH + 1, type: "int", condition: "<" },
          ({ i }: { i: THREE.Node }) => {
            const far = float(i).toVar();
            If(far.greaterThan(reach), () => {
              Break();
            });
            const w = exp(far.mul(far).mul(-2).div(reach.mul(reach))).toVar();
            const a = read(uv().add(this.along.mul(far))).toVar();
            const b = read(uv().sub(this.along.mul(far))).toVar();
            const nearer = min(a, b).toVar();
            If(nearer.greaterThan(max(low, 0)), () => {
              If(max(a, b).greaterThan(high), () => {
                w.mulAssign(0.5);
              });
              sum.addAssign(w.mul(min(a, high).add(min(b, high))));
              weight.addAssign(w.mul(2));
            });
          },
        );
      });
      return vec4(sum.div(weight), 0, 0, 1);
    })();
  }

  private composed() {
    const depth = (at: THREE.Node) => texture(this.depth[0].texture, at).level(int(0)).r;
    const solid = (at: THREE.Node) => texture(this.solid.texture, at).level(int(0)).r;
    const behind = (at: THREE.Node) => texture(this.behind.texture, at).level(int(0)).rgb;
    const viewAt = (at: THREE.ShaderNodeObject<THREE.Node>, z: THREE.Node) => {
      const corner = vec4(at.x.mul(2).sub(1), float(1).sub(at.y.mul(2)), 1, 1);
      const ray = this.unproject.mul(corner);
      return ray.xyz.div(ray.z.negate()).mul(z); // the matrix may leave w anything but 0
    };
    return Fn(() => {
      const place = uv().toVar();
      const z = depth(place).toVar();
      const colour = behind(place).toVar();
      const wall = solid(place).toVar();
      If(z.greaterThan(0).and(wall.lessThanEqual(0).or(z.lessThan(wall))), () => {
        const here = viewAt(place, z).toVar();
        // by the side on which the surface goes on
        const slope = (step: THREE.ShaderNodeObject<THREE.Node>) => {
          const a = depth(place.add(step)).toVar();
          const b = depth(place.sub(step)).toVar();
          const ahead = viewAt(place.add(step), a).sub(here).toVar();
          const back = here.sub(viewAt(place.sub(step), b)).toVar();
          const best = ahead.toVar();
          If(
            a.lessThanEqual(0).or(b.greaterThan(0).and(back.z.abs().lessThan(ahead.z.abs()))),
            () => {
              best.assign(back);
            },
          );
          return best;
        };
        const right = slope(vec2(this.pixel.x, 0));
        const down = slope(vec2(0, this.pixel.y));
        const normal = normalize(cross(down, right)).toVar();
        If(normal.z.lessThan(0), () => {
          normal.assign(normal.negate());
        });
        const eye = normalize(here.negate()).toVar();
        const facing = clamp(dot(normal, eye), 0, 1);
        const fresnel = pow(float(1).sub(facing), 5).mul(0.98).add(0.02).toVar();
        const depthOfWater = texture(this.thickness.texture, place).level(int(0)).r;
        const thick = depthOfWater.div(this.length).toVar();
        // what is at the surface is seen where it is, what is deep is shifted
        const way = min(depthOfWater, max(wall.sub(z), 0)).toVar();
        If(wall.lessThanEqual(0), () => {
          way.assign(depthOfWater);
        });
        const shift = vec2(normal.x, normal.y.negate()).mul(this.lens).mul(way.div(z));
        const bent = place.sub(shift).toVar();
        const other = solid(bent).toVar();
        If(other.greaterThan(0).and(other.lessThan(z)), () => {
          bent.assign(place);
        });
        const through = behind(bent)
          .mul(exp(vec3(-2.2, -0.55, -0.3).mul(thick)))
          .toVar();
        through.addAssign(vec3(0.015, 0.09, 0.13).mul(float(1).sub(exp(thick.mul(-1.5)))));
        const up = this.toWorld.mul(vec4(reflect(eye.negate(), normal), 0)).xyz;
        const glint = pow(max(dot(normal, normalize(this.sun.add(eye))), 0), 120);
        const lit = through.mul(max(dot(normal, this.sun), 0).mul(0.25).add(0.75));
        colour.assign(mix(lit, skyIn(up, this.sky), fresnel).add(glint));
      });
      return vec4(colour, 1);
    })();
  }

  resize(width: number, height: number) {
    for (const target of [...this.depth, this.solid, this.behind]) target.setSize(width, height);
    this.thickness.setSize(Math.ceil(width / 4), Math.ceil(height / 4));
  }

  private update(camera: THREE.PerspectiveCamera, radius: number, length: number) {
    const { width, height } = this.behind;
    camera.updateMatrixWorld();
    this.radius.value = radius;
    this.scale.value = 0.5 * height * camera.projectionMatrix.elements[5];
    this.least.value = 0.75 / this.scale.value;
    this.pixel.value.set(1 / width, 1 / height);
    this.length.value = length;
    this.unproject.value.copy(camera.projectionMatrix).invert();
    const { elements } = camera.projectionMatrix;
    this.lens.value.set(elements[0], elements[5]).multiplyScalar(0.5 * 0.25);
    this.toWorld.value.copy(camera.matrixWorld);
    this.sun.value.copy(SUN).transformDirection(camera.matrixWorldInverse);
  }

  render(
    renderer: THREE.WebGPURenderer,
    scene: THREE.Scene,
    camera: THREE.PerspectiveCamera,
    radius: number,
    length: number,
  ) {
    const { width, height } = this.behind;
    const clear = this.sky.value;
    this.update(camera, radius, length);
    renderer.setRenderTarget(this.behind);
    renderer.render(scene, camera);
    renderer.setClearColor(NOTHING, 0);
    scene.overrideMaterial = this.solidMaterial;
    renderer.setRenderTarget(this.solid);
    renderer.render(scene, camera);
    scene.overrideMaterial = null;
    this.points.material = this.depthMaterial;
    renderer.setRenderTarget(this.depth[0]);
    renderer.render(this.wet, camera);
    this.points.material = this.thicknessMaterial;
    renderer.setRenderTarget(this.thickness);
    renderer.render(this.wet, camera);
    for (let i = 0; i < 4; i++) {
      this.along.value.set(i % 2 ? 0 : 1 / width, i % 2 ? 1 / height : 0);
      renderer.setRenderTarget(this.depth[1 - (i % 2)]);
      this.smooth[i % 2].render(renderer);
    }
    renderer.setClearColor(clear, 1);
    renderer.setRenderTarget(null);
    this.compose.render(renderer);
  }
}
