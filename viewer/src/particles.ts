// Particles as balls: where they are, and the triangles that draw them.
import * as THREE from "three/webgpu";
import {
  cameraFar,
  cameraNear,
  cameraProjectionMatrix,
  cameraViewMatrix,
  cos,
  dot,
  float,
  int,
  ivec2,
  max,
  mix,
  sin,
  sqrt,
  step,
  textureLoad,
  uniform,
  varying,
  vec2,
  vec3,
  vec4,
  vertexIndex,
  viewZToPerspectiveDepth,
} from "three/tsl";

const ROW = 1024; // texels
const BELOW = 2; // what values of cells are more than those of particles

function makeTexture(rows: number) {
  const numbers = new Float32Array(4 * ROW * rows);
  return new THREE.DataTexture(numbers, ROW, rows, THREE.RGBAFormat, THREE.FloatType);
}

/** Positions and values of particles in a texture, from which the vertices of their triangles find
 * theirs by number: one triangle around each ball. Instances would do the same, but where no graphics
 * card draws, each of them takes as long as a draw call. */
export class Particles {
  readonly geometry = new THREE.BufferGeometry();
  count = 0;
  readonly growth = uniform(1); // how much larger the balls of full cells below a band are
  private texture = makeTexture(1);
  private readonly number = int(vertexIndex).div(int(3));
  private readonly row = this.number.div(int(ROW));
  private readonly texel = textureLoad(
    this.texture,
    ivec2(this.number.sub(this.row.mul(int(ROW))), this.row),
  );

  /** The value of the particle that a vertex belongs to, 0 to 1. */
  get value() {
    return this.texel.w.sub(this.isBelow.mul(BELOW));
  }

  /** 1 for a cell, else 0. */
  private get isBelow() {
    return step(1.5, this.texel.w);
  }

  constructor() {
    this.geometry.setDrawRange(0, 0);
  }

  /** Takes over positions (three numbers each) and values (of 255); the last `below` are cells. */
  set(positions: Float32Array, values: Uint8Array, below: number) {
    this.count = values.length;
    const rows = Math.ceil(this.count / ROW);
    if (rows > this.texture.image.height) {
      this.texture.dispose();
      this.texture = makeTexture(Math.ceil(1.2 * rows));
      this.texel.value = this.texture;
    }
    const to = this.texture.image.data as unknown as Float32Array;
    for (let i = 0; i < this.count; i++) {
      to[4 * i] = positions[3 * i];
      to[4 * i + 1] = positions[3 * i + 1];
      to[4 * i + 2] = positions[3 * i + 2];
      to[4 * i + 3] = values[i] / 255 + (i < this.count - below ? 0 : BELOW);
    }
    this.texture.needsUpdate = true;
    this.geometry.setDrawRange(0, 3 * this.count);
  }

  /** Balls of a size that face the eye: what all their shaders share. None is smaller on the screen
   * than `smallest` at a distance of one. */
  spheres(size: THREE.Node, smallest: THREE.Node) {
    const own = float(size).mul(mix(1, this.growth, this.isBelow));
    const radius = varying(own);
    const least = float(smallest);
    const middle = cameraViewMatrix.mul(vec4(this.texel.xyz, 1)).xyz;
    const half = max(own, least.mul(middle.z.negate()));
    // a triangle with a circle of one within
    const angle = float(int(vertexIndex).sub(this.number.mul(int(3)))).mul((2 * Math.PI) / 3);
    const corner = vec2(cos(angle), sin(angle)).mul(2);
    const centre = varying(middle);
    const across = varying(corner);
    const vertex = cameraProjectionMatrix.mul(vec4(middle.add(vec3(corner.mul(half), 0)), 1));
    const r2 = dot(across, across);
    const front = sqrt(max(float(1).sub(r2), 0));
    const z = centre.z.add(radius.mul(front));
    const depth = viewZToPerspectiveDepth(z, cameraNear, cameraFar);
    return { vertex, across, radius, r2, front, z, depth };
  }
}
