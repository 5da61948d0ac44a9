// SPDX-License-Identifier: Apache-2.0
import { memo, useMemo, useState, type ReactNode } from "react";
import { compare, type Row, type Side } from "../client/diff.ts";
import { exact } from "../client/text.ts";
import type { FileChange } from "../client/types.ts";

/** Rows that are shown at once. */
const most = 400;

/** A change of a file, side by side where there is room and else one below the other. If whole is set, no changed line is left out. */
export const DiffView = memo(function DiffView({ change, whole, wide }: { change: FileChange; whole?: boolean; wide: boolean }) {
  const d = useMemo(() => compare(change.old, change.new), [change]);
  const [all, setAll] = useState(false);
  const created = change.old === undefined || change.old === null;
  const split = wide && !created;
  const rows = whole || all ? d.rows : d.rows.slice(0, most);
  const title = `${exact(change.path)}: ${d.added} lines added, ${d.removed} removed`;
  return (
    <figure className="diff">
      <figcaption>
        <span className="path" dir="ltr">{exact(change.path)}</span>
        <span className="counts">
          {created && <span>new file </span>}
          <span className="plus">+{d.added}</span> <span className="minus">−{d.removed}</span>
        </span>
      </figcaption>
      <div className="scroll" tabIndex={0} role="region" aria-label={title}>
        <table className={split ? "split" : "unified"}>
          {split && <colgroup><col className="no" /><col /><col className="no" /><col /></colgroup>}
          <thead className="sr"><tr>{split ? <><th>Line</th><th>Before</th><th>Line</th><th>After</th></> : <><th>Line</th><th>Text</th></>}</tr></thead>
          <tbody>{(split ? rows : unify(rows)).map((row, i) => <RowView key={i} row={row} split={split} />)}</tbody>
        </table>
        {d.rows.length === 0 && <p className="note">{created ? "The file is empty." : "The texts are the same."}</p>}
      </div>
      {d.note && <p className="note">{d.note}</p>}
      {rows.length < d.rows.length && (
        <button type="button" className="quiet" onClick={() => setAll(true)}>Show {d.rows.length - rows.length} more rows</button>
      )}
    </figure>
  );
});

/** The rows with the lines that are removed before those that replace them. */
function unify(rows: Row[]): Row[] {
  const all: Row[] = [];
  let later: Row[] = [];
  for (const row of rows) {
    if (row.kind === "change") {
      if (row.left) all.push({ kind: "change", left: row.left });
      if (row.right) later.push({ kind: "change", right: row.right });
      continue;
    }
    all.push(...later, row);
    later = [];
  }
  return all.concat(later);
}

function RowView({ row, split }: { row: Row; split: boolean }): ReactNode {
  const [open, setOpen] = useState(false);
  if (row.kind === "gap") {
    if (open) return row.rows.map((r, i) => <RowView key={i} row={r} split={split} />);
    return (
      <tr className="gap">
        <td colSpan={split ? 4 : 2}>
          <button type="button" className="quiet" onClick={() => setOpen(true)}>{row.rows.length} unchanged lines</button>
        </td>
      </tr>
    );
  }
  if (split) return <tr><Cells side={row.left} kind={row.kind === "same" ? "" : "minus"} /><Cells side={row.right} kind={row.kind === "same" ? "" : "plus"} /></tr>;
  if (row.kind === "same") return <tr><Cells side={row.right} kind="" /></tr>;
  return (
    <>
      {row.left && <tr><Cells side={row.left} kind="minus" /></tr>}
      {row.right && <tr><Cells side={row.right} kind="plus" /></tr>}
    </>
  );
}

function Cells({ side, kind }: { side: Side | undefined; kind: "" | "plus" | "minus" }) {
  if (!side) return <><td className="no" /><td className="none" /></>;
  return (
    <>
      <td className={"no " + kind}>{side.line}</td>
      <td className={"text " + kind} dir="ltr">
        {kind && <span className="sr">{kind === "plus" ? "added: " : "removed: "}</span>}
        {side.spans.map((s, i) => (s.changed ? <mark key={i}>{exact(s.text)}</mark> : exact(s.text)))}
      </td>
    </>
  );
}
