// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"math"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/view"
)

// opSpent is the operation of a record whose entity has the cost of agents inside the calls of a
// turn.
const opSpent view.Op = "spent"

// usage shows how full the context is, and the cost of the session. The model will next read what
// it has last read and written.
func (p *Transcript) usage(m *model.Message) {
	p.spent += p.costOf(m)
	if used := m.Usage.TotalTokens(); used > 0 {
		p.full = uint64(used)
		p.showUsage()
	}
}

// usedInside counts a response of an agent inside a call.
func (p *Transcript) usedInside(m *model.Message) {
	if cost := p.costOf(m); cost > 0 {
		p.spent += cost
		p.spentInner += cost
		p.showUsage()
	}
}

func (p *Transcript) costOf(m *model.Message) float64 {
	if p.options.Prices == nil || m == nil {
		return 0
	}
	price, ok := p.options.Prices.Price(m.Provider, m.Model, m.Time)
	if !ok {
		return 0
	}
	return price.Of(m.Usage)
}

// spent holds the cost of a response, and how full the context was before it.
type spent struct {
	cost float64
	full uint64
}

// unspend takes back what a response of the turn has added that another one takes the place of.
func (p *Transcript) unspend(step int) {
	before, ok := p.replay.turn.spent[step]
	if !ok {
		return
	}
	delete(p.replay.turn.spent, step)
	if p.spent -= before.cost; p.replay.turn.step == step {
		p.full = before.full
	}
	if p.full == 0 {
		p.hide(UsageID)
	}
	p.showUsage()
}

func (p *Transcript) showUsage() {
	if p.options.Window <= 0 || p.full == 0 {
		return
	}
	u := &view.Tokens{Used: p.full, Size: uint64(p.options.Window)}
	if p.spent > 0 { // rounded, because the order of a sum must not show
		u.Cost, u.Currency = math.Round(p.spent*1e9)/1e9, p.options.Currency
	}
	p.upsert(&view.Entity{ID: UsageID, Kind: view.Usage, Usage: u})
}

// recordSpent records what no message says.
func (p *Transcript) recordSpent() {
	if cost := p.spentInner; cost > 0 {
		p.spentInner = 0
		p.record(record{Op: opSpent, ID: UsageID + ":" + p.run, Entity: &view.Entity{
			Usage: &view.Tokens{Cost: cost, Currency: p.options.Currency},
		}})
	}
}

// replaySpent counts what was recorded. A cost in another currency is left out.
func (p *Transcript) replaySpent(u *view.Tokens) {
	if u != nil && u.Cost > 0 && u.Currency == p.options.Currency {
		p.spent += u.Cost
		p.showUsage()
	}
}
