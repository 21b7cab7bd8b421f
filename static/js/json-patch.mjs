/**
 * JSON Patch (RFC 6902), in place and atomic: a patch that fails leaves the document as it was.
 * Does what `agui_host/protocol/patch.py` does: `tests/protocol/fold/patches.json` is tried on both.
 */

/** The document after `operations`; throws an Error that names the failed operation and the reason. */
export function applyPatch(document, operations) {
  const holder = { "": document };
  const undo = [];
  try {
    for (const operation of operations) perform(holder, operation, undo);
  } catch (error) {
    while (undo.length) undo.pop()();
    throw error;
  }
  return holder[""];
}

function perform(holder, { op, path, from, value }, undo) {
  const at = (pointer) => locate(holder, pointer);
  if (/^(add|replace|test)$/.test(op) && value === undefined) throw new Error(`${op} of ${path} has no value`);
  if (op === "add") add(at(path), value, undo);
  else if (op === "remove") remove(at(path), undo);
  else if (op === "replace") replace(at(path), value, undo);
  else if (op === "copy") add(at(path), structuredClone(read(at(from))), undo);
  else if (op === "move") {
    if (path.startsWith(`${from}/`)) throw new Error(`${from} cannot move into itself`);
    // The target is looked up with the moved value, and again without it.
    const target = at(path);
    if (Array.isArray(target.parent) && target.key !== "-") index(target, Infinity);
    if (!path) return replace(target, read(at(from)), undo);
    const moved = remove(at(from), undo);
    add(at(path), moved, undo);
  } else if (op !== "test") throw new Error(`unknown operation ${op}`);
  else if (!same(read(at(path)), value)) throw new Error(`test of ${path} failed`);
}

const missing = (pointer) => new Error(`${pointer} does not exist`);

/** Where a JSON Pointer leads: the container, and the key or index inside it. */
function locate(holder, pointer) {
  if (pointer !== "" && pointer[0] !== "/") throw new Error(`${pointer} is not a JSON Pointer`);
  const keys = pointer.split("/").map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
  if (keys.includes("__proto__") || (keys.includes("prototype") && keys.includes("constructor"))) throw new Error(`${pointer} is not safe`);
  const last = keys.pop();
  let parent = holder;
  for (const key of keys) parent = read({ parent, key, pointer });
  if (parent === null || typeof parent !== "object") throw missing(pointer);
  return { parent, key: last, pointer };
}

function index({ parent, key, pointer }, length) {
  if (!/^(0|[1-9]\d*)$/.test(key) || Number(key) >= length) throw missing(pointer);
  return Number(key);
}

function read(place) {
  const { parent, key, pointer } = place;
  if (Array.isArray(parent)) return parent[index(place, parent.length)];
  if (parent === null || typeof parent !== "object" || !Object.hasOwn(parent, key)) throw missing(pointer);
  return parent[key];
}

function add(place, value, undo) {
  const { parent, key } = place;
  if (!Array.isArray(parent)) {
    return Object.hasOwn(parent, key) ? replace(place, value, undo) : set(parent, key, value, undo);
  }
  const i = key === "-" ? parent.length : index(place, parent.length + 1);
  parent.splice(i, 0, value);
  undo.push(() => parent.splice(i, 1));
}

function set(parent, key, value, undo) {
  parent[key] = value;
  undo.push(() => delete parent[key]);
}

function replace(place, value, undo) {
  const { parent, key } = place;
  const old = read(place);
  parent[key] = value;
  undo.push(() => (parent[key] = old));
}

function remove(place, undo) {
  const { parent, key, pointer } = place;
  const old = read(place);
  if (!pointer) replace(place, null, undo);
  else if (Array.isArray(parent)) {
    parent.splice(Number(key), 1);
    undo.push(() => parent.splice(Number(key), 0, old));
  } else {
    delete parent[key];
    undo.push(() => set(parent, key, old, []));
  }
  return old;
}

function same(a, b) {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || !a || !b) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && same(a[key], b[key]));
}
