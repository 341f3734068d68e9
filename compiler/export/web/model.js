// Runs a model that tflgpu compiled, on WebGPU. Needs no other files than those beside it, and works
// in pages and in workers.

const NAME = "@{name}";
const FORMAT = @{format};
const TYPES = {float32: Float32Array, int32: Int32Array, int8: Int8Array, uint8: Uint8Array};
const WORD = 4;
const SMALLEST = 256;
/** Iterations after which Mesa's renderer on processors ends the loops of a work-item. */
const MESA_LOOPS = 65535;

/** Whether a value is a frame of a video, which not every browser copies to a texture. */
const isFrame = (value) => typeof VideoFrame !== "undefined" && value instanceof VideoFrame;
const words = (bytes) => Math.ceil(bytes / WORD) * WORD;

/** An error of which the message says what to do. */
export class ModelError extends Error {
  name = "ModelError";
}

/**
 * Loads the model from the folder at a URL. Pipelines are compiled while the weights are downloaded;
 * `onprogress` is told of both.
 */
export async function load(url = ".", {device, signal, onprogress} = {}) {
  const base = new URL(`${url}`.replace(/\/?$/, "/"), self.location.href);
  const described = await fetched(new URL(`${NAME}.json`, base), signal);
  // Some servers send a page of their own for what they do not have.
  const plan = await described.json().catch(() => ({}));
  signal?.throwIfAborted();
  if (plan.format !== FORMAT) {
    throw new ModelError(`${described.url} is not what was exported with ${NAME}.js; serve all files `
      + "of the folder together, and load the page without the browser's cache");
  }
  const own = device ? null : await opened(plan.needs);
  const gpu = device ?? own;
  try {
    checkDevice(gpu, plan.needs);
    const [weights, pipelines] = await Promise.all([
      downloaded(gpu, new URL("weights.bin", base), plan.weights, signal, onprogress),
      compiled(gpu, plan.kernels, onprogress),
    ]);
    signal?.throwIfAborted();
    return new Model(new Loaded(gpu, own !== null, plan, weights, pipelines), plan.signatures[0]);
  } catch (error) {
    own?.destroy();
    throw error;
  }
}

async function fetched(url, signal) {
  const response = await fetch(url, {signal});
  if (!response.ok) {
    throw new ModelError(`${url}: status ${response.status}; serve all files of the folder`);
  }
  return response;
}

async function opened(needs) {
  if (!navigator.gpu) {
    throw new ModelError(
      "this browser has no WebGPU here; use a recent Chrome, Edge, Safari or Firefox, and HTTPS");
  }
  const adapter = await navigator.gpu.requestAdapter({powerPreference: "high-performance"});
  if (!adapter) throw new ModelError("WebGPU finds no GPU; update its driver, or the browser");
  checkDevice(adapter, needs);
  return adapter.requestDevice({
    requiredFeatures: needs.features, requiredLimits: needs.limits, label: NAME});
}

function checkDevice(owner, needs) {
  const missing = needs.features.filter((feature) => !owner.features.has(feature));
  const low = Object.entries(needs.limits).filter(([limit, least]) => owner.limits[limit] < least);
  const {vendor, architecture} = owner.info ?? owner.adapterInfo ?? {};
  const ends = vendor === "mesa" && architecture === "software" && needs.iterations > MESA_LOOPS;
  const reasons = [
    ...missing.map((feature) => `the feature ${feature} is missing`),
    ...low.map(([limit, least]) => `${limit} is ${owner.limits[limit]}, but must be ${least}`),
    ...(ends ? [`loops end after ${MESA_LOOPS} iterations, but may take ${needs.iterations}`] : []),
  ];
  if (reasons.length) {
    throw new ModelError(`${NAME} cannot run on this device: ${reasons.join("; ")}; request them `
      + "with the device, or compile the model for the profile webgpu and in f32");
  }
}

async function downloaded(device, url, {size, sha256}, signal, onprogress) {
  const buffer = device.createBuffer({
    label: "weights", size: Math.max(words(size), SMALLEST), mappedAtCreation: true,
    usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC});
  const bytes = new Uint8Array(buffer.getMappedRange()).subarray(0, size);
  let loaded = 0;
  if (size) {
    for (const reader = (await fetched(url, signal)).body.getReader(); ;) {
      const {done, value} = await reader.read();
      if (done) break;
      if (loaded + value.length > size) throw new ModelError(`${url} has more than ${size} bytes`);
      bytes.set(value, loaded);
      loaded += value.length;
      onprogress?.({stage: "weights", loaded, total: size});
    }
  }
  if (loaded < size) throw new ModelError(`${url} ended after ${loaded} of ${size} bytes; load again`);
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  if (Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("") !== sha256) {
    throw new ModelError(`${url} is damaged or of another model; put the exported file there again`);
  }
  buffer.unmap();
  return buffer;
}

function compiled(device, kernels, onprogress) {
  let loaded = 0;
  return Promise.all(kernels.map(async ({name, code}) => {
    const module = device.createShaderModule({label: name, code});
    try {
      return await device.createComputePipelineAsync({
        label: name, layout: "auto", compute: {module}});
    } catch (error) {
      const {messages} = await module.getCompilationInfo();
      const said = messages.map((each) => `line ${each.lineNum}: ${each.message}`).join("\n");
      throw new ModelError(`the browser rejects the kernel ${name}: ${said || error.message}`);
    } finally {
      onprogress?.({stage: "kernels", loaded: ++loaded, total: kernels.length});
    }
  }));
}

/** What the signatures of a model share. */
class Loaded {
  lost = null;
  models = new Map();

  constructor(device, own, plan, weights, pipelines) {
    Object.assign(this, {device, own, plan, weights, pipelines, kept: [weights]});
    const {signatures} = plan;
    this.arena = this.buffer(Math.max(...signatures.map(({arena}) => arena)));
    this.variables = new Map(signatures.flatMap(({variables}) => variables).map(
      (variable) => [variable.name, variable]));
    this.states = new Map(Array.from(
      this.variables.values(), ({name, reach}) => [name, this.buffer(reach)]));
    device.lost.then(({reason, message}) => {
      this.lost = new ModelError(`the GPU device was lost (${message || reason}); load ${NAME} again`);
    });
    this.reset();
  }

  /** Keeps a buffer or a texture until the model is destroyed. */
  keep(item) {
    this.kept.push(item);
    return item;
  }

  buffer(size, usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST) {
    return this.keep(this.device.createBuffer({size: Math.max(words(size), SMALLEST), usage}));
  }

  reset() {
    const encoder = this.device.createCommandEncoder();
    for (const {name, size, content} of this.variables.values()) {
      const buffer = this.states.get(name);
      encoder.clearBuffer(buffer);
      if (content !== null && size) {
        encoder.copyBufferToBuffer(this.weights, content, buffer, 0, words(size));
      }
    }
    this.device.queue.submit([encoder.finish()]);
  }

  destroy() {
    this.lost ??= new ModelError(`${NAME} was destroyed; load it again`);
    for (const item of this.kept) item.destroy();
    if (this.own) this.device.destroy();
  }
}

class Model {
  #loaded; #tensors; #steps; #staging = []; #pictures = new Map();

  constructor(loaded, {name, inputs, outputs, variables, steps}) {
    const {device, pipelines} = loaded;
    this.#loaded = loaded;
    this.inputs = inputs;
    this.outputs = outputs;
    this.#tensors = new Map(
      [...inputs, ...outputs].map((tensor) => [tensor, loaded.buffer(tensor.reach)]));
    const own = (tensor) => this.#tensors.get(tensor);
    const buffers = [[loaded.arena], [loaded.weights], inputs.map(own), outputs.map(own),
      variables.map((variable) => loaded.states.get(variable.name))];
    this.#steps = steps.map(([kernel, groups, bindings]) => ({
      pipeline: pipelines[kernel],
      groups,
      bindings: device.createBindGroup({
        layout: pipelines[kernel].getBindGroupLayout(0),
        entries: bindings.map(([region, index, offset, size], binding) => ({
          binding, resource: {buffer: buffers[region][index], offset, size}})),
      }),
    }));
    loaded.models.set(name, this);
  }

  /** The names of the signatures that the model was compiled for; [] if for none. */
  get signatures() { return this.#loaded.plan.signatures.map(({name}) => name).filter(Boolean); }

  /** The model for another signature, on the same weights and variables. */
  signature(name) {
    const found = this.#loaded.plan.signatures.find((each) => each.name === name);
    if (!found) {
      throw new ModelError(`${NAME} has no signature ${name}; it has ${this.signatures.join(", ")}`);
    }
    return this.#loaded.models.get(name) ?? new Model(this.#loaded, found);
  }

  /** The device, for work of the application on `buffer`. */
  get device() { return this.#loaded.device; }

  /** The buffer of an input or output, given by its name or as `inputs` or `outputs` have it. */
  buffer(tensor) {
    const tensors = [...this.#tensors.keys()];
    const found = tensors.filter((each) => each === tensor || each.name === tensor);
    if (found.length === 1) return this.#tensors.get(found[0]);
    throw new ModelError(found.length
      ? `${tensor} is an input and an output of ${NAME}; give its entry of \`inputs\` or \`outputs\``
      : `${NAME} has no input or output ${tensor}; it has ${tensors.map(({name}) => name).join(", ")}`);
  }

  /** Records a run on the present content of the buffers of the inputs. */
  enqueue(encoder) {
    const pass = encoder.beginComputePass({label: NAME});
    let last = null;
    for (const {pipeline, bindings, groups} of this.#steps) {
      if (pipeline !== last) pass.setPipeline(last = pipeline);
      pass.setBindGroup(0, bindings);
      pass.dispatchWorkgroups(...groups);
    }
    pass.end();
  }

  /** Runs the model. Several runs may be in flight; each returns arrays of its own, by name. */
  async run(inputs) {
    if (this.#loaded.lost) throw this.#loaded.lost;
    this.#checkNames(inputs);
    const frames = Object.entries(inputs).filter(([, value]) => isFrame(value));
    if (frames.length) {
      const bitmaps = await Promise.all(frames.map(([, frame]) => createImageBitmap(frame)));
      const run = this.run(
        {...inputs, ...Object.fromEntries(frames.map(([name], at) => [name, bitmaps[at]]))});
      for (const bitmap of bitmaps) bitmap.close();
      return run;
    }
    const encoder = this.device.createCommandEncoder({label: NAME});
    for (const tensor of this.inputs) this.#write(tensor, inputs[tensor.name], encoder);
    this.enqueue(encoder);
    const staging = this.#staging.pop() ?? this.outputs.map(
      ({size}) => this.#loaded.buffer(size, GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST));
    this.outputs.forEach((tensor, index) => {
      encoder.copyBufferToBuffer(this.buffer(tensor), 0, staging[index], 0, words(tensor.size));
    });
    this.device.pushErrorScope("validation");
    this.device.queue.submit([encoder.finish()]);
    const invalid = this.device.popErrorScope();
    try {
      await Promise.all(staging.map((buffer) => buffer.mapAsync(GPUMapMode.READ)));
    } catch (error) {
      await Promise.resolve(); // The device may tell only now that it is lost.
      throw this.#loaded.lost ?? error;
    }
    const results = Object.fromEntries(this.outputs.map(({name, size, element}, index) => [
      name, new TYPES[element](staging[index].getMappedRange().slice(0, size))]));
    for (const buffer of staging) buffer.unmap();
    this.#staging.push(staging);
    const problem = await invalid;
    if (problem) throw new ModelError(`the browser rejects the run of ${NAME}: ${problem.message}`);
    return results;
  }

  #checkNames(inputs) {
    const names = this.inputs.map((tensor) => tensor.name);
    const wrong = [...names.filter((name) => inputs?.[name] === undefined),
      ...Object.keys(inputs ?? {}).filter((name) => !names.includes(name))];
    if (wrong.length) {
      throw new ModelError(`missing or unknown inputs: ${wrong.join(", ")}; give {${names.join(", ")}}`);
    }
  }

  #write(tensor, value, encoder) {
    const {name, size, element, shape} = tensor;
    const buffer = this.buffer(tensor);
    if (value instanceof GPUBuffer) {
      if (value !== buffer) encoder.copyBufferToBuffer(value, 0, buffer, 0, words(size));
    } else if (ArrayBuffer.isView(value)) {
      if (!(value instanceof TYPES[element]) || value.byteLength !== size) {
        throw new ModelError(`input ${name} is a ${value.constructor.name} of ${value.length}; it must `
          + `be a ${TYPES[element].name} of ${size / TYPES[element].BYTES_PER_ELEMENT} [${shape}]`);
      }
      let bytes = new Uint8Array(value.buffer, value.byteOffset, size);
      if (size % WORD) {
        const whole = new Uint8Array(words(size));
        whole.set(bytes);
        bytes = whole;
      }
      if (size) this.device.queue.writeBuffer(buffer, 0, bytes);
    } else {
      this.#draw(tensor, value, buffer, encoder);
    }
  }

  /** Copies a picture to an input of bytes, on the device. */
  #draw({name, element, shape}, source, buffer, encoder) {
    const [height, width, channels] = shape.slice(-3);
    if (element !== "uint8" || shape.length !== 4 || shape[0] !== 1 || ![1, 3, 4].includes(channels)) {
      throw new ModelError(`input ${name} takes no pictures but a ${TYPES[element].name}; pictures `
        + "need an input of bytes: compile the model with --input-format");
    }
    if (source.width !== width || source.height !== height) {
      throw new ModelError(`the picture for ${name} has ${source.width} x ${source.height} pixels; it `
        + `must have ${width} x ${height}: draw it to a canvas of that size, or compile for another size`);
    }
    if (!this.#pictures.has(name)) {
      this.#pictures.set(name, pictureReader(this.#loaded, buffer, width, height, channels));
    }
    const {texture, pipeline, bindings, groups} = this.#pictures.get(name);
    this.device.queue.copyExternalImageToTexture({source}, {texture}, [width, height]);
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, bindings);
    pass.dispatchWorkgroups(...groups);
    pass.end();
  }

  /** Gives the variables of the model their initial content, those of all signatures. */
  reset() { this.#loaded.reset(); }

  /** Frees the device's memory for all signatures, and the device unless it was given to `load`. */
  destroy() { this.#loaded.destroy(); }
}

/** What copies texels to the bytes of a buffer, four in a word. */
function pictureReader(loaded, buffer, width, height, channels) {
  const {device} = loaded;
  const texture = loaded.keep(device.createTexture({
    size: [width, height], format: "rgba8unorm",
    usage: GPUTextureUsage.TEXTURE_BINDING | GPUTextureUsage.COPY_DST
      | GPUTextureUsage.RENDER_ATTACHMENT}));
  const row = 65535 * 64;
  const count = words(width * height * channels) / WORD;
  const code = `
    @group(0) @binding(0) var picture: texture_2d<f32>;
    @group(0) @binding(1) var<storage, read_write> words: array<u32>;
    @compute @workgroup_size(64)
    fn main(@builtin(global_invocation_id) id: vec3u) {
      let place = id.x + id.y * ${row}u;
      if place >= ${count}u { return; }
      var word = 0u;
      for (var k = 0u; k < 4u; k++) {
        let at = place * 4u + k;
        let pixel = at / ${channels}u;
        let texel = textureLoad(picture, vec2u(pixel % ${width}u, pixel / ${width}u), 0);
        word |= u32(round(texel[at % ${channels}u] * 255.0)) << (8u * k);
      }
      words[place] = word;
    }`;
  const pipeline = device.createComputePipeline({
    layout: "auto", compute: {module: device.createShaderModule({code})}});
  const bindings = device.createBindGroup({layout: pipeline.getBindGroupLayout(0), entries: [
    {binding: 0, resource: texture.createView()}, {binding: 1, resource: {buffer}}]});
  const lines = Math.ceil(count / row);
  return {texture, pipeline, bindings, groups: [lines > 1 ? 65535 : Math.ceil(count / 64), lines]};
}
