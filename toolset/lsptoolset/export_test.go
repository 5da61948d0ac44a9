// SPDX-License-Identifier: Apache-2.0

package lsptoolset

import "time"

// SetTimes changes how often servers are looked at, and the first delay before one is started
// again. It must be called before any runs.
func SetTimes(check, first time.Duration) { checkInterval, firstDelay = check, first }

// KillAll kills all servers that run.
func (s *Servers) KillAll() {
	for _, v := range s.views {
		for _, l := range v.live() {
			l.process.Stop()
			<-l.gone
		}
	}
}

// Opened returns how many documents are open.
func (s *Servers) Opened() (n int) {
	for _, v := range s.views {
		for _, l := range v.live() {
			n += len(l.docs)
		}
	}
	return n
}
