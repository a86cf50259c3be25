// compare.mjs FOLDER: what ONNX graphs compute in onnxruntime, native and as WebAssembly, against `dpreduce predict`. FOLDER
// is what tests/python/fitted_models.py writes. Ends with 1 where a graph is off by more than docs/how-to/load-a-model.md says.
import fs from 'node:fs';
import path from 'node:path';
import * as native from 'onnxruntime-node';
import * as wasm from 'onnxruntime-web';

const folder = process.argv[2];
const arrays = { '<f4': Float32Array, '<f8': Float64Array, '<i8': BigInt64Array, '|u1': Uint8Array };

// A version 1.0 .npy in C order.
function npy(file) {
  const bytes = fs.readFileSync(path.join(folder, file));
  const start = 10 + bytes.readUInt16LE(8);
  const header = bytes.toString('latin1', 10, start);
  const shape = header.match(/'shape': \(([^)]*)\)/)[1].split(',').filter((one) => one.trim()).map(Number);
  const data = bytes.buffer.slice(bytes.byteOffset + start, bytes.byteOffset + bytes.length);
  return { shape, data: new arrays[header.match(/'descr': '([^']+)'/)[1]](data) };
}

const difference = (a, b) => b.reduce((most, value, place) => Math.max(most, Math.abs(a[place] - value)), 0);

const tolerances = { float32: { scores: 2e-4, probabilities: 2e-3 }, float64: { scores: 2e-7, probabilities: 2e-7 } };
const x = npy('x.npy');
const names = fs.readFileSync(path.join(folder, 'names.txt'), 'utf8').split('\n');
let faults = 0;
for (const [runtime, ort] of Object.entries({ native: native.default ?? native, wasm: wasm.default ?? wasm })) {
  for (const file of fs.readdirSync(folder).filter((name) => name.endsWith('.onnx')).sort()) {
    const [name, width] = file.split('.');
    const session = await ort.InferenceSession.create(new Uint8Array(fs.readFileSync(path.join(folder, file))),
      { executionProviders: [runtime === 'native' ? 'cpu' : 'wasm'] });
    const outputs = await session.run({ x: new ort.Tensor('float32', x.data, x.shape) });
    const labels = outputs.label ? npy(`${name}.y.npy`).data : [];  // numbers have none
    const scores = npy(`${name}.s.npy`).data;
    const largest = scores.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    const off = difference(outputs.scores.data, scores) / largest;
    const classes = outputs.scores.dims[1];
    const of_other = (label, row) => scores[row * classes + Number(labels[row])] - scores[row * classes + Number(label)];
    const said = [...(outputs.label?.data ?? [])].map((label) => (typeof label === 'string' ? BigInt(names.indexOf(label)) : label));
    const swapped = said.reduce((most, label, row) => Math.max(most, of_other(label, row)), 0) / largest;
    const others = said.filter((label, row) => label !== labels[row]).length;
    const limits = tolerances[width];
    const fails = [];
    if (!(off <= limits.scores)) fails.push('scores');
    if (width === 'float64' ? others > 0 : !(swapped <= 2 * limits.scores)) fails.push('labels');
    if (outputs.probabilities && !(difference(outputs.probabilities.data, npy(`${name}.p.npy`).data) <= limits.probabilities)) {
      fails.push('probabilities');
    }
    if (outputs.sets && width === 'float64' && difference(outputs.sets.data, npy(`${name}.sets.npy`).data) > 0) fails.push('sets');
    console.log(`${runtime.padEnd(7)} ${name.padEnd(14)} ${width}  scores ${off.toExponential(1)}  other labels ${others}` +
      (fails.length ? `  WRONG: ${fails.join(', ')}` : ''));
    faults += fails.length;
  }
}
if (faults) {
  console.error(`${faults} outputs are off`);
  process.exit(1);
}
