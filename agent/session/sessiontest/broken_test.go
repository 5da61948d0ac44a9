// SPDX-License-Identifier: Apache-2.0

package sessiontest_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/sessiontest"
	"github.com/ponte-go/ponte/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// fault is a store in memory that breaks the contract where a function is set. Stores that are opened with it share kept.
type fault struct {
	*session.Memory
	create  func(ctx context.Context, n session.New) (session.Info, error)
	get     func(session.Info, error) (session.Info, error)
	list    func(ctx context.Context, q session.Query) (session.Page, error)
	update  func(ctx context.Context, id string, c session.Change) (session.Info, error)
	fork    func(ctx context.Context, id string, at int64, n session.New) (session.Info, error)
	delete  func(ctx context.Context, id string) error
	acquire func(ctx context.Context, id string, c session.Claim) (session.Lease, error)
	release func(ctx context.Context, l session.Lease) error
	append  func(ctx context.Context, l session.Lease, head int64, entries []session.Entry) (int64, error)
	consume func(ctx context.Context, l session.Lease, head int64, b session.Batch) (int64, error)
	put     func(ctx context.Context, id string, i session.Item) (session.Item, error)
	change  func(ctx context.Context, id, item string, version int64, data json.RawMessage) (session.Item, error)
	items   func(ctx context.Context, id string, after int64, kinds []session.ItemKind) iter.Seq2[session.Item, error]
	load    func(ctx context.Context, id string, after int64) iter.Seq2[session.Entry, error]
	work    func(ctx context.Context) iter.Seq2[string, error]
	listen  func(ctx context.Context) iter.Seq2[string, error]
	watch   func(ctx context.Context, id string, after int64) iter.Seq2[session.Entry, error]
}

func (f *fault) Create(ctx context.Context, n session.New) (session.Info, error) {
	if f.create != nil {
		return f.create(ctx, n)
	}
	return f.Memory.Create(ctx, n)
}

func (f *fault) Get(ctx context.Context, id string) (session.Info, error) {
	if f.get != nil {
		return f.get(f.Memory.Get(ctx, id))
	}
	return f.Memory.Get(ctx, id)
}

func (f *fault) List(ctx context.Context, q session.Query) (session.Page, error) {
	if f.list != nil {
		return f.list(ctx, q)
	}
	return f.Memory.List(ctx, q)
}

func (f *fault) Update(ctx context.Context, id string, c session.Change) (session.Info, error) {
	if f.update != nil {
		return f.update(ctx, id, c)
	}
	return f.Memory.Update(ctx, id, c)
}

func (f *fault) Fork(ctx context.Context, id string, at int64, n session.New) (session.Info, error) {
	if f.fork != nil {
		return f.fork(ctx, id, at, n)
	}
	return f.Memory.Fork(ctx, id, at, n)
}

func (f *fault) Delete(ctx context.Context, id string) error {
	if f.delete != nil {
		return f.delete(ctx, id)
	}
	return f.Memory.Delete(ctx, id)
}

func (f *fault) Acquire(ctx context.Context, id string, c session.Claim) (session.Lease, error) {
	if f.acquire != nil {
		return f.acquire(ctx, id, c)
	}
	return f.Memory.Acquire(ctx, id, c)
}

func (f *fault) Release(ctx context.Context, l session.Lease) error {
	if f.release != nil {
		return f.release(ctx, l)
	}
	return f.Memory.Release(ctx, l)
}

func (f *fault) Append(ctx context.Context, l session.Lease, head int64, b session.Batch) (int64, error) {
	if f.append != nil && len(b.Consumed) == 0 {
		return f.append(ctx, l, head, b.Entries)
	}
	if f.consume != nil && len(b.Consumed) > 0 {
		return f.consume(ctx, l, head, b)
	}
	return f.Memory.Append(ctx, l, head, b)
}

func (f *fault) Put(ctx context.Context, id string, i session.Item) (session.Item, error) {
	if f.put != nil {
		return f.put(ctx, id, i)
	}
	return f.Memory.Put(ctx, id, i)
}

func (f *fault) Change(ctx context.Context, id, item string, version int64, data json.RawMessage) (session.Item, error) {
	if f.change != nil {
		return f.change(ctx, id, item, version, data)
	}
	return f.Memory.Change(ctx, id, item, version, data)
}

func (f *fault) Items(ctx context.Context, id string, after int64, kinds ...session.ItemKind) iter.Seq2[session.Item, error] {
	if f.items != nil {
		return f.items(ctx, id, after, kinds)
	}
	return f.Memory.Items(ctx, id, after, kinds...)
}

func (f *fault) Load(ctx context.Context, id string, after int64) iter.Seq2[session.Entry, error] {
	if f.load != nil {
		return f.load(ctx, id, after)
	}
	return f.Memory.Load(ctx, id, after)
}

func (f *fault) Work(ctx context.Context) iter.Seq2[string, error] {
	if f.work != nil {
		return f.work(ctx)
	}
	return f.Memory.Work(ctx)
}

func (f *fault) Listen(ctx context.Context) iter.Seq2[string, error] {
	if f.listen != nil {
		return f.listen(ctx)
	}
	return f.Memory.Listen(ctx)
}

func (f *fault) Watch(ctx context.Context, id string, after int64) iter.Seq2[session.Entry, error] {
	if f.watch != nil {
		return f.watch(ctx, id, after)
	}
	return f.Memory.Watch(ctx, id, after)
}

// broken is one way to break the contract, and the rules that find it.
type broken struct {
	name  string
	rules []string
	set   func(f *fault)
}

const (
	ruleNew      = "a new session is described as it was made"
	ruleOwnID    = "a session without an id gets one of its own"
	ruleOneID    = "an id is used once"
	ruleMissing  = "what does not exist is not found"
	ruleInvalid  = "invalid arguments are refused"
	ruleChanged  = "titles and values are changed"
	ruleDeleted  = "a session that is deleted is gone"
	ruleContext  = "a context that has ended does nothing"
	ruleEntries  = "entries come back as they were, in order"
	ruleAfter    = "entries are loaded after a position"
	ruleNumbers  = "entries get numbers and times"
	ruleWhole    = "an append is made as a whole or not at all"
	ruleMemory   = "memory is not shared with the caller"
	ruleMessage  = "a message takes the place of what has its run and key"
	ruleEnd      = "the end of a run takes the place of its steps"
	ruleMany     = "many can append to many sessions at once"
	ruleNested   = "a store can be used while entries are loaded"
	ruleStays    = "an update leaves the session to who has it"
	ruleHeld     = "of two writers one is told who has the session"
	ruleFenced   = "a lease that has ended never appends"
	ruleHead     = "an append that expects another head is refused"
	ruleOneHead  = "of many appends at one head one is made"
	ruleOneLease = "of many that acquire a session one gets it"
	ruleKept     = "a session that is held is not deleted"
	ruleList     = "a list has every session once, in order"
	rulePage     = "a page has a bound"
	ruleStable   = "a list is stable while sessions come and go"
	ruleOnce     = "a session that changes is listed once at most"
	ruleTalks    = "a list of conversations leaves out internal sessions"
	ruleCursor   = "a cursor belongs to its list"
	ruleOwner    = "a session belongs to its owner"
	ruleOwned    = "a list has the sessions of one owner"
	ruleLimit    = "an owner has no more sessions than the limit"
	ruleLong     = "texts may be long"
	ruleFork     = "a fork has what its parent had, and goes its own way"
	ruleForks    = "a fork can be forked"
	ruleOutlive  = "forks outlive their parents"
	ruleForkKept = "a fork keeps what its parent supersedes later"
	rulePut      = "items come back as they were put"
	ruleAgain    = "an item that is put again has no effect"
	ruleNoLease  = "any process puts items, whoever has the session"
	ruleEdit     = "an item is changed in the version that was seen, and removed"
	ruleConsume  = "items are consumed with the entries that they cause, or not at all"
	ruleNote     = "notes wait for nobody"
	ruleFollow   = "an inbox can be followed"
	ruleOwnInbox = "inboxes end with their sessions, and forks have their own"
	ruleTakeOne  = "of many that consume an item one does"
	rulePutMany  = "many can put items at once"
	ruleItemBad  = "invalid items are refused"
	ruleWatch    = "a watch yields what is there and what comes"
	ruleWork     = "sessions with work that nobody holds are named"
	ruleListen   = "changes of every session are told"
	ruleWatchEnd = "a watch ends when the session is deleted"
)

var errBad = errors.New("bad")

func faults() []broken {
	var all []broken
	all = append(all, sessionFaults()...)
	all = append(all, entryFaults()...)
	all = append(all, leaseFaults()...)
	all = append(all, inboxFaults()...)
	all = append(all, ownerFaults()...)
	return append(all, listFaults()...)
}

func target(set func(f *fault)) *sessiontest.Target {
	f := &fault{Memory: new(session.Memory)}
	if set != nil {
		set(f)
	}
	return &sessiontest.Target{Open: func() (session.Store, error) { return f, nil }}
}

// TestSuiteFindsEveryFault runs the suite on stores that do one thing wrong.
func TestSuiteFindsEveryFault(t *testing.T) {
	found := map[string]bool{}
	for _, b := range faults() {
		for _, rule := range b.rules {
			text, _ := says(t, rule, b.set)
			require.NotEmpty(t, text, "%s: the suite accepts that %s", rule, b.name)
			found[rule] = true
		}
	}
	for _, rule := range sessiontest.Rules() {
		require.True(t, found[rule], "no fault breaks the rule that %s", rule)
	}
}

var zone = time.FixedZone("here", 3600)
