// SPDX-License-Identifier: Apache-2.0
import { memo, useMemo } from "react";
import { citations } from "../client/cites.ts";
import { ended, ending, textOf } from "../client/fold.ts";
import { exact, line, plural, pretty, prose } from "../client/text.ts";
import type { Entity } from "../client/types.ts";
import { Plain, CommandView, Fold, Piece } from "./content.tsx";
import { usePage } from "./context.ts";
import { Icon, StatusMark } from "./icons.tsx";
import { Markdown } from "./markdown.tsx";
import { Marks } from "./marks.tsx";

/** What a screen reader calls an item. */
export function nameOf(e: Entity): string {
  switch (e.kind) {
    case "message": return e.role === "user" ? "You" : "Agent";
    case "thought": return "Thought";
    case "tool_call": return "Tool call: " + line(e.title || e.name || "");
    case "command": return "Command: " + line(e.title ?? "");
    case "agent": return "Agent: " + line(e.title || e.name || "");
    case "notice": return "Notice";
    case "compaction": return "Summary";
    case "question": return "Question: " + line(e.title ?? "");
  }
  return e.kind;
}

/** An entity of the transcript. */
export const Item = memo(function Item({ e, live }: { e: Entity; live: boolean }) {
  switch (e.kind) {
    case "message": return e.role === "user" ? <UserMessage e={e} /> : <AgentMessage e={e} />;
    case "thought": return <Thought e={e} live={live} />;
    case "tool_call": return <Call e={e} />;
    case "command": return <CommandView e={e} />;
    case "agent": return <SubAgent e={e} />;
    case "question": return <Answered e={e} />;
    case "notice": return <Notice e={e} />;
    case "compaction": return <Compaction e={e} />;
  }
  return null;
});

function UserMessage({ e }: { e: Entity }) {
  const page = usePage();
  const title = page.running ? "Stop the turn first" : undefined;
  return (
    <div className="user">
      {isClaimed(e) && <Claimed />}
      <div className="bubble">{(e.content ?? []).map((c, i) => (c.kind === "text" ? <p key={i} className="asis" dir="auto">{prose(c.text ?? "")}</p> : <Piece key={i} c={c} as="plain" />))}</div>
      <div className="actions">
        <button type="button" className="quiet small" onClick={() => page.fork(e)} title="Begin another session that has everything before this message"><Icon name="fork" /> Fork</button>
        <button type="button" className="quiet small" disabled={page.running} title={title ?? "Take back this message and all that follows"} onClick={() => page.rewind(e)}><Icon name="rewind" /> Rewind</button>
      </div>
    </div>
  );
}

/** Whether a client has claimed that this was said, so that nobody knows. */
export function isClaimed(e: Entity): boolean {
  return (e.meta as { claimed?: unknown } | null | undefined)?.claimed === true;
}

function Claimed() {
  return <p className="note"><span className="tag">claimed</span> A program has claimed that this was said.</p>;
}

function AgentMessage({ e }: { e: Entity }) {
  const { sources, marks } = useMemo(() => citations(e.content ?? []), [e.content]);
  return (
    <div className="agent">
      {isClaimed(e) && <Claimed />}
      {(e.content ?? []).map((c, i) => <Piece key={i} c={c} as="markdown" marks={marks.get(c)} source={sources.get(c)} />)}
      {ending(e.status) && <p className="note">{ending(e.status)}</p>}
      <Marks e={e} />
    </div>
  );
}

function Thought({ e, live }: { e: Entity; live: boolean }) {
  const text = textOf(e);
  const first = line(text).slice(0, 120);
  return (
    <div className={live ? "thought live" : "thought"}>
      <Fold id={e.id} title={<><span className="label">{live ? "Thinking" : "Thought"}</span> <span className="dim clip">{first}</span></>}>
        <Markdown text={text} />
      </Fold>
    </div>
  );
}

/** A tool call: one line that unfolds to everything that is known of it. */
function Call({ e }: { e: Entity }) {
  const page = usePage();
  const children = page.children(e.id);
  const waiting = children.some((c) => c.kind === "question" && c.status === "pending");
  const telling = (e.content ?? []).some((c) => c.kind === "diff" || c.kind === "command" || c.kind === "image");
  const nested = children.some((c) => c.kind !== "question");
  const open = !waiting && (telling || nested || (e.status === "in_progress" && textOf(e) !== ""));
  const execute = e.class === "execute";
  return (
    <div className={"call " + (e.status ?? "")}>
      <Fold id={e.id} initially={open} title={
        <>
          <StatusMark status={e.status} />
          <Icon name={e.class ?? "other"} />
          <span className={execute ? "title mono" : "title"} dir="ltr">{line(e.title || e.name || "Tool call")}</span>
          {waiting && <span className="tag">waits for you</span>}
          {e.name && e.name !== e.title && <span className="dim name">{line(e.name)}</span>}
        </>
      }>
        {!!e.locations?.length && <p className="dim places" dir="ltr">{e.locations.map((l) => exact(l.path) + (l.line ? ":" + l.line : "")).join("  ")}</p>}
        {hasInput(e) && <Fold id={e.id + "#input"} initially={!e.content?.length} title="Arguments"><Plain text={pretty(e.input)} language="json" /></Fold>}
        {(e.content ?? []).map((c, i) => <Piece key={i} c={c} as="plain" />)}
        {children.map((c) => <Item key={c.id} e={c} live={false} />)}
        {e.output !== undefined && e.output !== null && <Fold id={e.id + "#output"} title="Output"><Plain text={pretty(e.output)} language="json" /></Fold>}
      </Fold>
    </div>
  );
}

function hasInput(e: Entity): boolean {
  return e.input !== undefined && e.input !== null && pretty(e.input) !== "{}";
}

function SubAgent({ e }: { e: Entity }) {
  const page = usePage();
  const children = page.children(e.id);
  return (
    <div className="subagent">
      <Fold id={e.id} initially={!ended(e.status)} title={
        <><StatusMark status={e.status} /><Icon name="agent" /><span className="title">{line(e.title || e.name || "Agent")}</span><span className="dim">{plural(children.length, "step")}</span></>
      }>
        {children.map((c) => <Item key={c.id} e={c} live={false} />)}
      </Fold>
    </div>
  );
}

/** A question in the transcript: the dock has the buttons. */
function Answered({ e }: { e: Entity }) {
  if (e.status === "pending") return <p className="note"><Icon name="question" /> Waits for an answer, below: {line(e.title ?? "")}</p>;
  const choice = e.choices?.find((c) => c.id === e.value);
  const said = e.status === "cancelled" ? "Not answered" : line(choice?.title || e.value || "Answered");
  const title = <><Icon name={/reject|decline|cancel/.test(e.value ?? e.status ?? "") ? "failed" : "done"} /> {said}<span className="dim"> · {line(e.title ?? "")}</span></>;
  if (!e.content?.length) return <p className="note">{title}</p>;
  return <div className="answered"><Fold id={e.id} title={title}>{e.content.map((c, i) => <Piece key={i} c={c} as="plain" />)}</Fold></div>;
}

function Notice({ e }: { e: Entity }) {
  return (
    <div className={"notice " + (/^(info|warning|error)$/.test(e.class ?? "") ? e.class : "info")}>
      <p dir="auto">{prose(e.title ?? "")}</p>
      {(e.content ?? []).map((c, i) => <Piece key={i} c={c} as="plain" />)}
    </div>
  );
}

function summarised(status: string | undefined): string {
  switch (status) {
    case "failed": return "Earlier messages could not be summarised";
    case "pending": case "in_progress": return "Earlier messages are being summarised";
    case "cancelled": return "Earlier messages were not summarised";
  }
  return "Earlier messages were summarised";
}

function Compaction({ e }: { e: Entity }) {
  return (
    <div className="compaction">
      <Fold id={e.id} title={<><StatusMark status={e.status} /><span className="label">{summarised(e.status)}</span> <span className="dim clip">{line(e.title ?? "")}</span></>}>
        {(e.content ?? []).map((c, i) => <Piece key={i} c={c} as="markdown" />)}
      </Fold>
    </div>
  );
}
