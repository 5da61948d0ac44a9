// SPDX-License-Identifier: Apache-2.0
import type { ReactNode } from "react";

const paths: Record<string, ReactNode> = {
  read: <path d="M4 2.5h5l3 3v8H4zM9 2.5v3h3M6 8.5h4M6 11h4" />,
  edit: <path d="M3 13l.7-3L10.5 3.2l2.3 2.3L6 12.3z" />,
  delete: <path d="M3.5 4.5h9M6 4.5v-2h4v2M5 4.5l.5 9h5l.5-9" />,
  move: <path d="M2.5 8h11M10 4.5L13.5 8 10 11.5" />,
  search: <path d="M7 2.5a4.5 4.5 0 110 9 4.5 4.5 0 010-9M10.3 10.3L13.5 13.5" />,
  execute: <path d="M3 4l4 4-4 4M8.5 12h4.5" />,
  think: <path d="M8 2.5a4 4 0 00-2 7.5v1.5h4V10a4 4 0 00-2-7.5M6.5 13.5h3" />,
  fetch: <path d="M8 2.5a5.5 5.5 0 110 11 5.5 5.5 0 010-11M2.5 8h11M8 2.5c-4 4-4 7 0 11M8 2.5c4 4 4 7 0 11" />,
  other: <path d="M9.5 3a3 3 0 00-2.7 4.3L3 11.1 4.9 13l3.8-3.8A3 3 0 0013 6.5L11 8 8.5 7.5 8 5l1.5-2" />,
  agent: <path d="M8 2.5a2.5 2.5 0 110 5 2.5 2.5 0 010-5M3 13.5c.5-3 2.5-4 5-4s4.5 1 5 4" />,
  menu: <path d="M2.5 4.5h11M2.5 8h11M2.5 11.5h11" />,
  plus: <path d="M8 3v10M3 8h10" />,
  send: <path d="M8 13V3.5M4 7l4-4 4 4" />,
  stop: <path d="M4.5 4.5h7v7h-7z" fill="currentColor" />,
  attach: <path d="M12.5 7.5l-5 5a3 3 0 01-4.3-4.3l5.6-5.6a2 2 0 012.9 2.9l-5.5 5.5a1 1 0 01-1.5-1.5l5-5" />,
  theme: <><path d="M8 2.5a5.5 5.5 0 110 11 5.5 5.5 0 010-11" /><path d="M8 2.5v11a5.5 5.5 0 000-11" fill="currentColor" /></>,
  chevron: <path d="M6 4l4 4-4 4" />,
  done: <path d="M3 8.5L6.5 12 13 4.5" />,
  failed: <path d="M4 4l8 8M12 4l-8 8" />,
  question: <path d="M5.5 6a2.5 2.5 0 115 0c0 1.7-2.5 2-2.5 4M8 12.5v.5" />,
  fork: <path d="M4.5 2.5v11M4.5 9c4 0 7-1 7-4.5M9.5 6l2-2 2 2" />,
  rewind: <path d="M3 3.5v4h4M3.5 7A5 5 0 113 10" />,
  up: <path d="M2.5 7.5h2v6h-2zM4.5 7.5L7.5 2.5c1.5 0 2 1 1.5 4h4l-1 7H4.5" />,
  under: <path d="M2.5 8.5h2v-6h-2zM4.5 8.5L7.5 13.5c1.5 0 2-1 1.5-4h4l-1-7H4.5" />,
  down: <path d="M8 3v10M4 9l4 4 4-4" />,
};

/** A small picture. It has no name for screen readers: what it stands beside has. */
export function Icon({ name }: { name: string }) {
  return <svg className="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">{paths[name] ?? paths["other"]}</svg>;
}

/** How far something is, as a picture with a name. */
export function StatusMark({ status }: { status: string | undefined }) {
  switch (status) {
    case "completed": return <span className="mark ok" role="img" aria-label="done"><Icon name="done" /></span>;
    case "failed": return <span className="mark bad" role="img" aria-label="failed"><Icon name="failed" /></span>;
    case "cancelled": return <span className="mark dim" role="img" aria-label="cancelled"><Icon name="stop" /></span>;
    case "in_progress": return <span className="mark spin" role="img" aria-label="running" />;
    case "pending": return <span className="mark wait" role="img" aria-label="waiting" />;
  }
  return <span className="mark" />;
}
