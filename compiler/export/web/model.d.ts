// Types of @{name}.js. Those of WebGPU are TypeScript's since version 6, before from @webgpu/types.

export interface TensorInfo {
  readonly name: string;
  readonly shape: readonly number[];
  /** The type in the model. */
  readonly dtype: string;
  /** The type on the device, and of the arrays of `run`. */
  readonly element: "float32" | "int32" | "int8" | "uint8";
  /** Bytes on the device. */
  readonly size: number;
  /** Real value = scale * (value - zero_point); 0 if it is not quantized. */
  readonly scale: number;
  readonly zero_point: number;
}

export type TensorArray = Float32Array | Int32Array | Int8Array | Uint8Array;
/** Of exactly the size of an input of bytes with 1, 3 or 4 channels. */
export type Picture = ImageBitmap | ImageData | VideoFrame | HTMLCanvasElement | OffscreenCanvas;

export interface Progress {
  /** weights in bytes, or kernels. */
  stage: "weights" | "kernels";
  loaded: number;
  total: number;
}

export interface LoadOptions {
  /** A device of the application, with the features and limits in @{name}.json. */
  device?: GPUDevice;
  signal?: AbortSignal;
  onprogress?: (progress: Progress) => void;
}

export class ModelError extends Error {}

export interface Model {
  readonly inputs: readonly TensorInfo[];
  readonly outputs: readonly TensorInfo[];
  readonly device: GPUDevice;
  /** Names of the signatures that the model was compiled for; the first is loaded. */
  readonly signatures: readonly string[];
  /** The model for a signature, on the same weights and variables. */
  signature(name: string): Model;
  run(inputs: Record<string, TensorArray | GPUBuffer | Picture>): Promise<Record<string, TensorArray>>;
  enqueue(encoder: GPUCommandEncoder): void;
  /** A name that an input and an output have is ambiguous: give the entry of `inputs` or `outputs`. */
  buffer(tensor: string | TensorInfo): GPUBuffer;
  reset(): void;
  destroy(): void;
}

/** Loads the model from the folder at `url`. ModelError says what to do; AbortError of `signal`. */
export function load(url?: string | URL, options?: LoadOptions): Promise<Model>;
