// SPDX-License-Identifier: Apache-2.0
import { useId, useState, type FormEvent } from "react";
import { fieldsOf, valueOf, type Field } from "../client/schema.ts";
import { line, prose } from "../client/text.ts";

interface Props { schema: unknown; ready: boolean; done: string; accept: (content: unknown) => void; decline: () => void; cancel: () => void }

/** A form made of a JSON schema. A schema that is not a flat object is answered with JSON. */
export function QuestionForm({ schema, ready, done, accept, decline, cancel }: Props) {
  const fields = fieldsOf(schema);
  const [values, setValues] = useState<Record<string, string | string[]>>(() => Object.fromEntries((fields ?? []).map((f) => [f.name, f.initial])));
  const [json, setJSON] = useState("{}");
  const [problem, setProblem] = useState("");
  const submit = (ev: FormEvent) => {
    ev.preventDefault();
    try {
      accept(fields ? valueOf(fields, values) : (JSON.parse(json) as unknown));
      setProblem("");
    } catch (err) {
      setProblem(err instanceof Error ? err.message : String(err));
    }
  };
  return (
    <form className="form" onSubmit={submit}>
      {fields ? fields.map((f) => <Input key={f.name} f={f} value={values[f.name] ?? ""} set={(v) => setValues((all) => ({ ...all, [f.name]: v }))} />) : (
        <label className="edit"><span>Answer, as JSON</span><textarea rows={4} dir="ltr" spellCheck={false} value={json} onChange={(ev) => setJSON(ev.target.value)} /></label>
      )}
      {problem && <p className="bad" role="alert">{problem}</p>}
      <div className="buttons">
        <button type="submit" className="primary" disabled={!ready}>{done}</button>
        <button type="button" disabled={!ready} onClick={decline}>Decline</button>
        <button type="button" disabled={!ready} onClick={cancel}>Cancel the question</button>
      </div>
    </form>
  );
}

function Input({ f, value, set }: { f: Field; value: string | string[]; set: (v: string | string[]) => void }) {
  const id = useId();
  const label = <>{line(f.title)}{f.required && <span className="dim"> (required)</span>}</>;
  const help = f.description ? <span className="dim" id={id + "help"}>{prose(f.description)}</span> : null;
  const common = { id, required: f.required, "aria-describedby": f.description ? id + "help" : undefined };
  if (f.type === "boolean") {
    return (
      <div className="field">
        <label><input id={id} type="checkbox" aria-describedby={common["aria-describedby"]} checked={value === "true"} onChange={(ev) => set(String(ev.target.checked))} /> {line(f.title)}</label>
        {help}
      </div>
    );
  }
  if (f.type === "several" || (f.choices && f.choices.length <= 6)) {
    const several = f.type === "several";
    const on = (v: string) => (Array.isArray(value) ? value.includes(v) : value === v);
    return (
      <fieldset className="field" aria-describedby={common["aria-describedby"]}>
        <legend>{label}</legend>
        {help}
        {f.choices!.map((c) => (
          <label key={c.value}>
            <input
              type={several ? "checkbox" : "radio"} name={id} required={!several && f.required} checked={on(c.value)}
              onChange={(ev) => set(Array.isArray(value) ? (ev.target.checked ? [...value, c.value] : value.filter((v) => v !== c.value)) : c.value)}
            /> {line(c.title)}
          </label>
        ))}
      </fieldset>
    );
  }
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {help}
      {f.choices ? (
        <select {...common} value={value} onChange={(ev) => set(ev.target.value)}>
          <option value="" />
          {f.choices.map((c) => <option key={c.value} value={c.value}>{line(c.title)}</option>)}
        </select>
      ) : (
        <input
          {...common} type={f.input} value={value} onChange={(ev) => set(ev.target.value)} step={f.type === "number" ? "any" : undefined}
          min={f.min} max={f.max} minLength={f.minLength} maxLength={f.maxLength}
        />
      )}
    </div>
  );
}
