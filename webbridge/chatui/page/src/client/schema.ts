// SPDX-License-Identifier: Apache-2.0
// The schemas of questions: flat objects of strings, numbers, booleans and choices, as MCP and ACP define them for elicitation.

export interface Field {
  name: string; title: string; description: string; required: boolean;
  type: "string" | "number" | "integer" | "boolean" | "several";
  input: string; initial: string | string[]; choices?: { value: string; title: string }[];
  min?: number; max?: number; minLength?: number; maxLength?: number;
}

type Schema = Record<string, unknown>;

function object(v: unknown): Schema | undefined {
  return typeof v === "object" && v !== null && !Array.isArray(v) ? (v as Schema) : undefined;
}

/** The fields of a form for a schema, or undefined if it is not a flat object. */
export function fieldsOf(schema: unknown): Field[] | undefined {
  const s = object(schema);
  if (!s) return undefined;
  const properties = object(s["properties"]);
  if (!properties) return Object.keys(s).every((k) => ["type", "$schema", "additionalProperties"].includes(k)) ? [] : undefined;
  const required = Array.isArray(s["required"]) ? s["required"] : [];
  const all: Field[] = [];
  for (const [name, raw] of Object.entries(properties)) {
    const f = fieldOf(name, object(raw) ?? {}, required.includes(name));
    if (!f) return undefined;
    all.push(f);
  }
  return all;
}

function fieldOf(name: string, p: Schema, required: boolean): Field | undefined {
  const text = (k: string) => (typeof p[k] === "string" ? (p[k] as string) : "");
  const number = (k: string) => (typeof p[k] === "number" ? (p[k] as number) : undefined);
  const f: Field = {
    name, title: text("title") || name, description: text("description"), required, type: "string", input: "text",
    initial: p["default"] === undefined ? "" : String(p["default"]),
    min: number("minimum"), max: number("maximum"), minLength: number("minLength"), maxLength: number("maxLength"),
  };
  switch (p["type"]) {
    case "string":
      f.choices = choicesOf(p);
      f.input = { email: "email", uri: "url", date: "date" }[text("format")] ?? "text";
      return f;
    case "number":
    case "integer":
      f.type = p["type"];
      f.input = "number";
      f.choices = choicesOf(p, "number");
      return f;
    case "boolean":
      f.type = "boolean";
      f.initial = typeof p["default"] === "boolean" ? String(p["default"]) : "";
      return f;
    case "array":
      f.type = "several";
      f.choices = choicesOf(object(p["items"]) ?? {});
      f.initial = Array.isArray(p["default"]) ? p["default"].map(String) : [];
      return f.choices && f;
  }
  f.choices = choicesOf(p);
  return f.choices && f;
}

/** The values that a field may have, if the schema lists them. */
function choicesOf(p: Schema, type: "string" | "number" = "string"): Field["choices"] {
  if (Array.isArray(p["enum"])) {
    const names = Array.isArray(p["enumNames"]) ? p["enumNames"] : [];
    return p["enum"].every((v) => typeof v === type) ? p["enum"].map((v, i) => ({ value: String(v), title: String(names[i] ?? v) })) : undefined;
  }
  if (typeof p["const"] === type) return [{ value: String(p["const"]), title: String(p["const"]) }];
  const some = p["oneOf"] ?? p["anyOf"];
  if (!Array.isArray(some)) return undefined;
  const all = some.map(object);
  return all.every((o) => typeof o?.["const"] === type) ? all.map((o) => ({ value: String(o!["const"]), title: String(o!["title"] ?? o!["const"]) })) : undefined;
}

/** The answer that the values of a form make. Fields that are empty or were not touched, and are not required, are left out. */
export function valueOf(fields: readonly Field[], values: Record<string, string | string[]>): Record<string, unknown> {
  const all: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  for (const f of fields) {
    const v = values[f.name] ?? "";
    if (f.type === "boolean") {
      if (v !== "" || f.required) all[f.name] = v === "true";
    }
    else if (Array.isArray(v)) {
      if (f.required && v.length === 0) throw new Error(`Choose at least one: ${f.title}`);
      if (v.length > 0) all[f.name] = v;
    } else if (v === "") {
      if (f.required) throw new Error(`Missing: ${f.title}`);
    } else if (f.type === "number" || f.type === "integer") {
      const n = Number(v);
      if (!Number.isFinite(n) || (f.type === "integer" && !Number.isInteger(n))) throw new Error(`Not a number: ${f.title}`);
      if (f.type === "integer" && !Number.isSafeInteger(n)) throw new Error(`Too many digits: ${f.title}`);
      all[f.name] = n;
    } else all[f.name] = v;
  }
  return { ...all };
}
