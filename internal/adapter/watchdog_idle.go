package adapter

import "time"

// SetIdle changes the bound on the silence within an answer, from the next read on. An adapter shortens it when the
// response is complete and only the connection's end, or usage, is missing.
func (w *Watchdog) SetIdle(d time.Duration) { w.idle = d }
