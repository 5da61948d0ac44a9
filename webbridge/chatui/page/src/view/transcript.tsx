// SPDX-License-Identifier: Apache-2.0
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useLayoutEffect, useRef, useState } from "react";
import type { Entity } from "../client/types.ts";
import { Icon } from "./icons.tsx";
import { Item, nameOf } from "./item.tsx";

/**
 * The transcript. Only the items that are in sight, and some around them, are elements of the page. It follows the end as long as the
 * end is in sight.
 */
export function Transcript({ items, running, foot }: { items: readonly Entity[]; running: boolean; foot: React.ReactNode }) {
  const scroller = useRef<HTMLDivElement>(null);
  const inner = useRef<HTMLDivElement>(null);
  const pinned = useRef(true);
  const last = useRef(0);
  const [away, setAway] = useState(false);
  const virtual = useVirtualizer({
    count: items.length,
    getScrollElement: () => scroller.current,
    estimateSize: (i) => (items[i]?.kind === "message" ? 96 : 34),
    getItemKey: (i) => items[i]?.id ?? i,
    overscan: 8,
    useFlushSync: false,
  });

  const toEnd = () => {
    const el = scroller.current;
    if (el) el.scrollTop = el.scrollHeight;
  };
  useLayoutEffect(() => {
    if (!inner.current) return;
    const o = new ResizeObserver(() => {
      if (pinned.current) toEnd();
    });
    o.observe(inner.current);
    if (scroller.current) o.observe(scroller.current);
    return () => o.disconnect();
  }, []);
  useEffect(() => {
    if (pinned.current) toEnd();
  }, [items]);

  const scrolled = () => {
    const el = scroller.current!;
    const rest = el.scrollHeight - el.scrollTop - el.clientHeight;
    if (rest < 40) pinned.current = true;
    else if (el.scrollTop < last.current - 1) pinned.current = false;
    last.current = el.scrollTop;
    setAway(!pinned.current && rest > 200);
  };

  const shown = virtual.getVirtualItems();
  return (
    <div className="transcript">
      <div ref={scroller} className="scroller" tabIndex={0} role="region" aria-label="Conversation" onScroll={scrolled} onWheel={(ev) => ev.deltaY < 0 && (pinned.current = false)}>
        <div ref={inner}>
          <div className="feed" role="feed" aria-label="Transcript" aria-busy={running} style={{ height: virtual.getTotalSize() }}>
            {shown.map((v) => {
              const e = items[v.index];
              if (!e) return null;
              return (
                <article
                  key={v.key} ref={virtual.measureElement} data-index={v.index} data-kind={e.kind} className={"item " + e.kind}
                  style={{ transform: `translateY(${v.start}px)` }}
                  aria-label={nameOf(e)} aria-posinset={v.index + 1} aria-setsize={items.length} tabIndex={-1}
                >
                  <Item e={e} live={running && v.index === items.length - 1} />
                </article>
              );
            })}
          </div>
          <div className="foot">{foot}</div>
        </div>
      </div>
      {away && (
        <button type="button" className="toend" aria-label="Go to the end" onClick={() => {
          pinned.current = true;
          virtual.scrollToIndex(items.length - 1, { align: "end" });
          toEnd();
        }}><Icon name="down" /></button>
      )}
    </div>
  );
}
