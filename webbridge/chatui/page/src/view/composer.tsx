// SPDX-License-Identifier: Apache-2.0
import { useEffect, useId, useLayoutEffect, useRef, useState, type ClipboardEvent, type Dispatch, type KeyboardEvent, type SetStateAction } from "react";
import { composes, isHeld } from "../client/keys.ts";
import { imageURL, line } from "../client/text.ts";
import type { Busy, Part, Setting, SlashCommand } from "../client/types.ts";
import { Icon } from "./icons.tsx";

export interface Attachment { name: string; media_type: string; data: string }

interface Props {
  running: boolean; connected: boolean; commands: readonly SlashCommand[]; settings: readonly Setting[]; accepts: readonly string[] | undefined;
  draft: string; setDraft: Dispatch<SetStateAction<string>>;
  send: (parts: Part[], busy: Busy) => Promise<boolean>; stop: () => void; set: (s: Setting, value: string) => void; fail: (err: unknown) => void;
}

/** The largest file that is attached. The server may take less. */
const largest = 10 << 20;

/** What every server takes. */
const texts = ["text/*", "application/json"];

/** Where prompts are written. */
export function Composer(p: Props) {
  const [files, setFiles] = useState<Attachment[]>([]);
  const [sending, setSending] = useState(false);
  const [chosen, setChosen] = useState(0);
  const [dismissed, setDismissed] = useState("");
  const area = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  const list = useId();

  useLayoutEffect(() => {
    const el = area.current!;
    el.style.height = "auto";
    el.style.height = Math.min(el.scrollHeight, innerHeight * 0.4) + "px";
  }, [p.draft]);

  const kinds = [...texts, ...(p.accepts ?? [])];
  const typed = /^\/(\S*)$/.exec(p.draft)?.[1];
  const matches = typed === undefined || dismissed === p.draft ? [] : p.commands.filter((c) => c.name.toLowerCase().startsWith(typed.toLowerCase())).slice(0, 8);
  const at = Math.min(chosen, matches.length - 1);
  useEffect(() => setChosen(0), [typed]);

  const attach = async (all: Iterable<File>) => {
    for (const f of all) {
      const type = f.type || "text/plain";
      if (f.size > largest) p.fail(new Error(`${f.name} is larger than 10 MB.`));
      else if (!kinds.some((a) => a === type || (a.endsWith("/*") && type.startsWith(a.slice(0, -1))))) p.fail(new Error(`Files of the type ${type} are not accepted.`));
      else {
        const one = { name: f.name.replace(/[/\\:\p{Cc}]/gu, "_") || "image", media_type: type, data: await base64(f) };
        setFiles((before) => [...before, one]);
      }
    }
  };

  const send = async (busy: Busy) => {
    const text = p.draft.trim();
    if (sending || (!text && files.length === 0)) return;
    setSending(true);
    const parts: Part[] = [...(text ? [{ text }] : []), ...files];
    const before = p.draft;
    p.setDraft("");
    const sent = await p.send(parts, busy);
    // Text and files that were added meanwhile stay.
    if (sent) setFiles((all) => all.filter((f) => !files.includes(f)));
    else p.setDraft((now) => (now ? before + "\n" + now : before));
    setSending(false);
  };

  const complete = (c: SlashCommand) => {
    p.setDraft("/" + c.name + " ");
    area.current?.focus();
  };

  const key = (ev: KeyboardEvent) => {
    if (composes(ev.nativeEvent)) return;
    if (isHeld(ev)) {
      ev.preventDefault();
      return;
    }
    if (matches.length > 0) {
      const move = { ArrowDown: 1, ArrowUp: -1 }[ev.key];
      if (move) setChosen((at + move + matches.length) % matches.length);
      else if (ev.key === "Tab" || (ev.key === "Enter" && matches[at]!.name !== typed)) complete(matches[at]!);
      else if (ev.key === "Escape") setDismissed(p.draft);
      else if (ev.key !== "Enter") return;
      else void send("wait");
      ev.preventDefault();
      return;
    }
    if (ev.key === "Enter" && !ev.shiftKey && !ev.altKey) {
      ev.preventDefault();
      void send(ev.ctrlKey || ev.metaKey ? "steer" : "wait");
    } else if (ev.key === "Escape" && p.running) p.stop();
  };

  const paste = (ev: ClipboardEvent) => {
    const all = [...ev.clipboardData.files];
    if (all.length === 0) return;
    ev.preventDefault();
    void attach(all);
  };

  return (
    <form
      className="composer" aria-label="Prompt" onSubmit={(ev) => {
        ev.preventDefault();
        void send("wait");
      }}
      onDragOver={(ev) => ev.preventDefault()} onDrop={(ev) => {
        ev.preventDefault();
        void attach(ev.dataTransfer.files);
      }}
    >
      {matches.length > 0 && (
        <ul className="slash" id={list} role="listbox" aria-label="Commands">
          {matches.map((c, i) => (
            <li key={c.name} id={list + i} role="option" aria-selected={i === at} onMouseDown={(ev) => {
              ev.preventDefault();
              complete(c);
            }}><code>/{line(c.name)}</code>{c.hint && <span className="dim"> {line(c.hint)}</span>}<span className="what">{line(c.description ?? "")}</span></li>
          ))}
        </ul>
      )}
      {files.length > 0 && (
        <ul className="files" aria-label="Attachments">
          {files.map((f, i) => (
            <li key={i}>
              {imageURL(f.media_type, f.data) && <img src={imageURL(f.media_type, f.data)} alt="" />}
              <span className="clip">{line(f.name)}</span>
              <button type="button" className="quiet" aria-label={"Remove " + line(f.name)} onClick={() => setFiles(files.filter((_, k) => k !== i))}><Icon name="failed" /></button>
            </li>
          ))}
        </ul>
      )}
      <textarea
        ref={area} rows={1} value={p.draft} placeholder={p.running ? "Queue a message" : "Ask the agent"} aria-label="Message" dir="auto"
        role="combobox" aria-expanded={matches.length > 0} aria-controls={list} aria-autocomplete="list" aria-activedescendant={matches.length > 0 ? list + at : undefined}
        onChange={(ev) => p.setDraft(ev.target.value)} onKeyDown={key} onPaste={paste}
      />
      <div className="bar">
        <input ref={picker} type="file" multiple hidden tabIndex={-1} accept={kinds.join(",")} aria-label="Files" onChange={(ev) => {
          void attach([...(ev.target.files ?? [])]);
          ev.target.value = "";
        }} />
        <button type="button" className="quiet square" aria-label="Attach files" title="Attach files" onClick={() => picker.current?.click()}><Icon name="attach" /></button>
        <Settings all={p.settings} set={p.set} />
        <span className="space" />
        {p.running && p.draft.trim() && (
          <button type="button" onClick={() => void send("steer")} title="Send this to the running turn (Ctrl Enter)" disabled={sending}>Steer</button>
        )}
        {p.running && (
          <button type="button" className="stop square" aria-label="Stop" title="Stop (Esc)" onClick={p.stop}><Icon name="stop" /></button>
        )}
        {(!p.running || p.draft.trim() || files.length > 0) && (
          <button type="submit" className="primary square" aria-label={p.running ? "Queue" : "Send"} title={p.running ? "Send when the turn has ended (Enter)" : "Send (Enter)"} disabled={sending || !p.connected || (!p.draft.trim() && files.length === 0)}><Icon name="send" /></button>
        )}
      </div>
    </form>
  );
}

/** The mode, the model and whatever else can be set. */
function Settings({ all, set }: { all: readonly Setting[]; set: (s: Setting, value: string) => void }) {
  return all.map((s) => {
    const name = line(s.title || s.id);
    if (s.switch) {
      return <label key={s.id} className="setting" title={s.description}><input type="checkbox" checked={s.value === "true"} onChange={(ev) => set(s, String(ev.target.checked))} /> {name}</label>;
    }
    const groups = [...new Set((s.choices ?? []).map((c) => c.group ?? ""))];
    const options = (g: string) => (s.choices ?? []).filter((c) => (c.group ?? "") === g).map((c) => <option key={c.id} value={c.id} title={c.description}>{line(c.title || c.id)}</option>);
    return (
      <select key={s.id} className="setting" aria-label={name} title={name + (s.description ? ": " + line(s.description) : "")} value={s.value} onChange={(ev) => set(s, ev.target.value)}>
        {!s.choices?.some((c) => c.id === s.value) && <option value={s.value}>{line(s.value)}</option>}
        {groups.map((g) => (g ? <optgroup key={g} label={line(g)}>{options(g)}</optgroup> : options(g)))}
      </select>
    );
  });
}

function base64(f: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const r = new FileReader();
    r.onload = () => resolve(String(r.result).replace(/^[^,]*,/, ""));
    r.onerror = () => reject(new Error(`${f.name} cannot be read.`));
    r.readAsDataURL(f);
  });
}
