// Runs a model that tflgpu compiled, on WebGPU. Needs no other files than those beside it, and works
// in pages and in workers.

const NAME = "@{name}";
/** The digest of NAME.json, without which kernels of one export would run with code of another. */
const SHA256 = "@{sha256}";
const TYPES = {float32: Float32Array, int32: Int32Array, int8: Int8Array, uint8: Uint8Array};
const WORD = 4;
const SMALLEST = 256;
/** Iterations after which Mesa's renderer on processors ends the loops of a work-item. */
const MESA_LOOPS = 65535;
/** Milliseconds within which a device that is lost says so, after what it was asked for failed. */
const TO_TELL = 100;
/** Names that a message lists at most. */
const LISTED = 8;

/** Whether a value is a frame of a video, which not every browser copies to a texture. */
const isFrame = (value) => typeof VideoFrame !== "undefined" && value instanceof VideoFrame;
/** Width and height of a picture in pixels, whatever size a page shows it in; undefined of others. */
const pixelsOf = (value) => [value?.videoWidth ?? value?.naturalWidth ?? value?.width,
  value?.videoHeight ?? value?.naturalHeight ?? value?.height];
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
  if (device ? !device.createBuffer : !globalThis.navigator?.gpu) {
    throw new ModelError(device ? "`device` is no GPUDevice; give what requestDevice resolves to"
      : "there is no WebGPU here; use a recent Chrome, Edge, Safari or Firefox, and HTTPS");
  }
  const address = within(url, `${NAME}.json`);
  const described = await (await fetched(address, signal)).arrayBuffer().catch(
    (error) => failed(address, signal, error));
  // Some servers send a page of their own for what they do not have.
  if (await digestOf(described) !== SHA256) {
    throw new ModelError(`${address} is not what was exported with ${NAME}.js; serve all files `
      + "of the folder together, and load the page without the browser's cache");
  }
  const plan = JSON.parse(new TextDecoder().decode(described));
  const own = device ? null : await opened(plan.needs);
  const gpu = device ?? own;
  let weights = null;
  try {
    checkDevice(gpu, plan.needs);
    weights = await allocated(gpu, () => weightsBuffer(gpu, plan.weights.size));
    const [, pipelines] = await Promise.all([
      downloaded(weights, within(url, "weights.bin"), plan.weights, signal, onprogress),
      compiled(gpu, plan.kernels, onprogress),
    ]);
    signal?.throwIfAborted();
    return await allocated(gpu, () => new Model(
      new Loaded(gpu, own !== null, plan, weights, pipelines), plan.signatures[0]));
  } catch (error) {
    weights?.destroy();
    const cause = signal?.aborted ? error : await causeOf(error, gpu);
    own?.destroy();
    throw cause;
  }
}

/** The address of a file in the folder at a URL, with the query of that URL. */
function within(url, file) {
  let found;
  try {
    found = new URL(url || ".", globalThis.document?.baseURI ?? globalThis.location?.href);
  } catch {
    throw new ModelError(`${url} is no address of a folder here; give a whole one, with https:`);
  }
  found.pathname = found.pathname.replace(/\/?$/, `/${file}`);
  return found;
}

async function fetched(url, signal) {
  const response = await fetch(url, {signal}).catch((error) => failed(url, signal, error));
  if (!response.ok || !response.body) {
    throw new ModelError(`${url}: status ${response.status}; serve all files of the folder`);
  }
  return response;
}

/** Throws why a download ended early. */
function failed(url, signal, error) {
  signal?.throwIfAborted();
  throw new ModelError(`${url} cannot be downloaded (${error.message}); load again, from a server `
    + "that allows it to this page (CORS)");
}

async function opened(needs) {
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

/** What `make` made on a device; ModelError if its memory is full. */
async function allocated(device, make) {
  let made, problem;
  device.pushErrorScope("out-of-memory");
  try {
    made = make();
  } catch (error) {
    problem = error;
  }
  problem = await device.popErrorScope() ?? problem;
  if (!problem) return made;
  made?.destroy();
  throw new ModelError(`the GPU has no memory for ${NAME} (${problem.message}); free that of others`);
}

/** An error, or that the device was lost, which it may tell a little later. */
async function causeOf(error, device) {
  const late = new Promise((resolve) => { setTimeout(resolve, TO_TELL); });
  const lost = await Promise.race([device.lost, late]);
  return lost ? lossOf(lost) : error;
}

const lossOf = ({reason, message}) =>
  new ModelError(`the GPU device was lost (${message || reason}); load ${NAME} again`);

const weightsBuffer = (device, size) => device.createBuffer({
  label: "weights", size: Math.max(words(size), SMALLEST), mappedAtCreation: true,
  usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC});

/** Fills the buffer of the weights, which may be destroyed meanwhile. */
async function downloaded(buffer, url, {size, sha256}, signal, onprogress) {
  const bytes = new Uint8Array(buffer.getMappedRange()).subarray(0, size);
  const other = `${url} is damaged or of another model; put the exported file there again`;
  let loaded = 0;
  const reader = size ? (await fetched(url, signal)).body.getReader() : null;
  try {
    while (reader) {
      const {done, value} = await reader.read().catch((error) => failed(url, signal, error));
      if (done) break;
      if (loaded + value.length > size) throw new ModelError(other);
      bytes.set(value, loaded);
      loaded += value.length;
      onprogress?.({stage: "weights", loaded, total: size});
    }
  } finally {
    reader?.cancel().catch(() => {});
  }
  if (loaded < size) throw new ModelError(`${url} ended after ${loaded} of ${size} bytes; load again`);
  if (await digestOf(bytes) !== sha256) throw new ModelError(other);
  buffer.unmap();
}

/** The SHA-256 of bytes, in hexadecimal digits. */
async function digestOf(bytes) {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
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
  /** The last run that waits for frames to be decoded, or for another such run. */
  waiting = null;

  constructor(device, own, plan, weights, pipelines) {
    Object.assign(this, {device, own, plan, weights, pipelines, kept: [weights]});
    const {signatures} = plan;
    this.arena = this.buffer(Math.max(...signatures.map(({arena}) => arena)));
    this.variables = new Map(signatures.flatMap(({variables}) => variables).map(
      (variable) => [variable.name, variable]));
    this.states = new Map(Array.from(
      this.variables.values(), ({name, reach}) => [name, this.buffer(reach)]));
    device.lost.then((lost) => { this.lost ??= lossOf(lost); });
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

  /** What signatures share; ModelError if the model was destroyed or its device lost. */
  #working() {
    if (this.#loaded.lost) throw this.#loaded.lost;
    return this.#loaded;
  }

  /** The names of the signatures that the model was compiled for; [] if for none. */
  get signatures() { return this.#loaded.plan.signatures.map(({name}) => name).filter(Boolean); }

  /** The model for another signature, on the same weights and variables. */
  signature(name) {
    const loaded = this.#working(), found = loaded.plan.signatures.find((each) => each.name === name);
    if (!found) {
      throw new ModelError(
        `${NAME} has no signature ${name}; it has ${this.signatures.join(", ") || "none"}`);
    }
    return loaded.models.get(name) ?? new Model(loaded, found);
  }

  /** The device, for work of the application on `buffer`. */
  get device() { return this.#loaded.device; }

  /** The buffer of an input or output, given by its name or as `inputs` or `outputs` have it. */
  buffer(tensor) {
    this.#working();
    const tensors = [...this.#tensors.keys()];
    const found = tensors.filter((each) => each === tensor || each.name === tensor);
    if (found.length === 1) return this.#tensors.get(found[0]);
    throw new ModelError(found.length
      ? `${tensor} is an input and an output of ${NAME}; give its entry of \`inputs\` or \`outputs\``
      : `${NAME} has no input or output ${tensor}; it has ${tensors.map(({name}) => name).join(", ")}`);
  }

  /** Records a run on the present content of the buffers of the inputs. */
  enqueue(encoder) {
    this.#working();
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
    this.#checkNames(inputs);
    const waits = this.#working().waiting || Object.values(inputs ?? {}).some(isFrame);
    return waits ? this.#runLater(inputs) : this.#start(inputs);
  }

  /** Decodes frames first. Later runs wait meanwhile, as variables depend on the order of runs. */
  async #runLater(inputs) {
    const loaded = this.#loaded;
    const copies = Object.entries(inputs).map(([name, value]) => copied(name, value));
    const turn = loaded.waiting = Promise.allSettled([loaded.waiting, ...copies]);
    const [, ...settled] = await turn;
    if (loaded.waiting === turn) loaded.waiting = null;
    const values = settled.map(({value}) => value);
    try {
      for (const {status, reason} of settled) if (status === "rejected") throw reason;
      return this.#start(Object.fromEntries(Object.keys(inputs).map((name, at) => [name, values[at]])));
    } finally {
      for (const value of values) if (value instanceof ImageBitmap) value.close();
    }
  }

  async #start(inputs) {
    const loaded = this.#working();
    const encoder = this.device.createCommandEncoder({label: NAME});
    for (const tensor of this.inputs) this.#write(tensor, inputs[tensor.name], encoder);
    this.enqueue(encoder);
    const staging = this.#staging.pop() ?? this.outputs.map(
      ({size}) => loaded.buffer(size, GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST));
    this.outputs.forEach((tensor, index) => {
      encoder.copyBufferToBuffer(this.buffer(tensor), 0, staging[index], 0, words(tensor.size));
    });
    this.device.pushErrorScope("validation");
    this.device.queue.submit([encoder.finish()]);
    const invalid = this.device.popErrorScope();
    try {
      await Promise.all(staging.map((buffer) => buffer.mapAsync(GPUMapMode.READ)));
    } catch (error) {
      throw loaded.lost ?? await causeOf(error, loaded.device);
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
      const more = wrong.length > LISTED ? `, and ${wrong.length - LISTED} others` : "";
      throw new ModelError(`missing or unknown inputs: ${wrong.slice(0, LISTED).join(", ")}${more}; `
        + `give {${names.join(", ")}}`);
    }
  }

  #write(tensor, value, encoder) {
    const {name, size, element, shape} = tensor;
    const buffer = this.buffer(tensor);
    if (value instanceof GPUBuffer) {
      if (value !== buffer) encoder.copyBufferToBuffer(value, 0, buffer, 0, words(size));
    } else if (pixelsOf(value)[0] !== undefined) {
      this.#draw(tensor, value, buffer, encoder);
    } else if (value?.[Symbol.toStringTag] !== TYPES[element].name || value.byteLength !== size) {
      const length = value?.length === undefined ? "" : ` of ${value.length}`;
      throw new ModelError(`input ${name} is a ${value?.constructor?.name ?? value}${length}; it must `
        + `be a ${TYPES[element].name} of ${size / TYPES[element].BYTES_PER_ELEMENT} [${shape}]`);
    } else if (size) {
      // WebGPU takes whole words, and no memory that may grow.
      let bytes = new Uint8Array(value.buffer, value.byteOffset, size);
      if (size % WORD || value.buffer.resizable || value.buffer.growable) {
        const whole = new Uint8Array(words(size));
        whole.set(bytes);
        bytes = whole;
      }
      this.device.queue.writeBuffer(buffer, 0, bytes);
    }
  }

  /** Copies a picture to an input of bytes, on the device. */
  #draw({name, element, shape}, source, buffer, encoder) {
    const [height, width, channels] = shape.slice(-3);
    if (element !== "uint8" || shape.length !== 4 || shape[0] !== 1 || ![1, 3, 4].includes(channels)) {
      throw new ModelError(`input ${name} takes no pictures but a ${TYPES[element].name}; pictures `
        + "need an input of bytes: compile the model with --input-format");
    }
    const [wide, high] = pixelsOf(source);
    if (wide !== width || high !== height) {
      throw new ModelError(`the picture for ${name} has ${wide} x ${high} pixels; it `
        + `must have ${width} x ${height}: draw it to a canvas of that size, or compile for another size`);
    }
    if (!this.#pictures.has(name)) {
      this.#pictures.set(name, pictureReader(this.#loaded, buffer, width, height, channels));
    }
    const {texture, pipeline, bindings, groups} = this.#pictures.get(name);
    try {
      this.device.queue.copyExternalImageToTexture({source}, {texture}, [width, height]);
    } catch (error) {
      throw unread(name, error);
    }
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, bindings);
    pass.dispatchWorkgroups(...groups);
    pass.end();
  }

  /** Gives the variables of the model their initial content, those of all signatures. */
  reset() { this.#working().reset(); }

  /** Frees the device's memory for all signatures, and the device unless it was given to `load`. */
  destroy() { this.#loaded.destroy(); }
}

/** An input as it is now, of which only a buffer of the device may change before the run. */
async function copied(name, value) {
  const frame = isFrame(value);
  if (!frame && pixelsOf(value)[0] === undefined) return value?.slice?.() ?? value;
  // Of frames without alpha, Chromium multiplies by the byte that is left.
  return createImageBitmap(value, frame ? {} : {premultiplyAlpha: "none"}).catch((error) => {
    throw unread(name, error);
  });
}

const unread = (name, error) =>
  new ModelError(`the picture for ${name} cannot be read: ${error.message}`);

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
