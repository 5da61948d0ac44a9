// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"sync"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/internal/loop"
)

// Room is what a run has to itself and nobody keeps: its native engine, its configuration, and the
// memory of its loop. Runs that follow one another use the same rooms.
type Room struct {
	Engine Native
	Config loop.Config
	memory loop.Memory
}

var rooms = sync.Pool{New: func() any { return new(Room) }}

// Enter returns a room for a run whose tasks are executed by worker.
func Enter(worker engine.Worker) *Room {
	r := rooms.Get().(*Room)
	r.Engine.worker, r.Config.Memory = worker, &r.memory
	return r
}

// Leave gives the room to another run. The run has ended, and nobody uses its result or its
// configuration any more. Without Leave, the garbage collector has the room: a run that was
// streamed must not leave it to others, because tools that have kept their run contexts may still
// report to its loop, and neither may one that a panic has ended.
func (r *Room) Leave() {
	r.Engine, r.Config = Native{}, loop.Config{}
	r.memory.Clear()
	rooms.Put(r)
}
