// SPDX-License-Identifier: Apache-2.0

export interface ServerEvent { event: string; data: string; id: string | undefined }

/**
 * Parses a stream of server-sent events, in pieces of any length. Lines end with LF, CR or CRLF. Comments are reported too, as sign of
 * life. See the section "Server-sent events" of the HTML standard.
 */
export class EventParser {
  #line = "";
  #data: string[] = [];
  #event = "";
  #id: string | undefined;
  #cr = false;
  #first = true;

  constructor(private readonly emit: (e: ServerEvent) => void) {}

  feed(chunk: string): void {
    if (this.#first && chunk !== "") {
      this.#first = false;
      if (chunk.charCodeAt(0) === 0xfeff) chunk = chunk.slice(1);
    }
    let start = 0;
    for (let i = 0; i < chunk.length; i++) {
      const c = chunk.charCodeAt(i);
      if (c === 10 && this.#cr) {
        this.#cr = false;
        start = i + 1;
        continue;
      }
      this.#cr = c === 13;
      if (c === 10 || c === 13) {
        this.#take(this.#line + chunk.slice(start, i));
        this.#line = "";
        start = i + 1;
      }
    }
    this.#line += chunk.slice(start);
  }

  #take(line: string) {
    if (line === "") {
      if (this.#data.length > 0) this.emit({ event: this.#event || "message", data: this.#data.join("\n"), id: this.#id });
      this.#data = [];
      this.#event = "";
      return;
    }
    const colon = line.indexOf(":");
    if (colon === 0) return;
    const field = colon < 0 ? line : line.slice(0, colon);
    let value = colon < 0 ? "" : line.slice(colon + 1);
    if (value.startsWith(" ")) value = value.slice(1);
    if (field === "data") this.#data.push(value);
    else if (field === "event") this.#event = value;
    else if (field === "id" && !value.includes("\0")) this.#id = value;
  }
}
