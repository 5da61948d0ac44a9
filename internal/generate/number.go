// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
)

var one = big.NewRat(1, 1)

// number appends a number. Numbers are multiples of a step (multipleOf, or 1) wherever there is one within the bounds;
// the plain one is the first above zero.
func (g *generator) number(n *node, integer bool) error {
	step := one
	if n.MultipleOf != nil {
		step = n.MultipleOf.Rat
		if integer { // the whole numbers among the multiples
			step = new(big.Rat).SetInt(step.Num())
		}
	}
	low, high := lowest(n, step), highest(n, step)
	var v *big.Rat
	switch choices, zero := steps(low, high, step, 20+g.vary); {
	case zero != nil && g.vary%(len(choices)+1) == len(choices):
		v = zero // the last resort
	case len(choices) > 0:
		v = choices[g.choose(len(choices))]
	case !integer && n.MultipleOf == nil:
		v = middle(n)
	}
	if v != nil {
		if text := appendNumber(nil, v); n.acceptNumber(json.Number(text)) {
			g.out = append(g.out, text...)
			return nil
		}
	}
	return fmt.Errorf("%w: no number is within its bounds", errNoValue)
}

// steps returns some multiples of step from low to high, either of which may be nil: first those
// above zero, then those below. Zero is separate, because "required" may refuse it even if the
// schema allows it; it is nil if out of bounds.
func steps(low, high, step *big.Rat, most int) (list []*big.Rat, zero *big.Rat) {
	first := step
	if low != nil && low.Cmp(first) > 0 {
		first = low
	}
	if high != nil && high.Cmp(first) < 0 {
		first = high
	}
	within := func(v *big.Rat) bool {
		return (low == nil || v.Cmp(low) >= 0) && (high == nil || v.Cmp(high) <= 0)
	}
	add := func(v *big.Rat) {
		if v.Sign() == 0 {
			zero = v
		} else {
			list = append(list, v)
		}
	}
	for v := first; len(list) < most && within(v); v = new(big.Rat).Add(v, step) {
		add(v)
	}
	for v := new(big.Rat).Sub(first, step); len(list) < most && within(v); v = new(big.Rat).Sub(v, step) {
		add(v)
	}
	return list, zero
}

// middle returns the number in the middle of bounds that have no whole number between them.
func middle(n *node) *big.Rat {
	sum := new(big.Rat).Add(bound(n.Minimum, n.Above, 1), bound(n.Maximum, n.Below, -1))
	return sum.Mul(sum, big.NewRat(1, 2))
}

// bound is the stricter one of an inclusive and an exclusive bound, or nil.
func bound(inclusive, exclusive *number, sign int) *big.Rat {
	if b := mergeBound(inclusive, exclusive, sign); b != nil {
		return b.Rat
	}
	return nil
}

// lowest is the smallest multiple of step within the bounds of n, or nil without a lower bound.
func lowest(n *node, step *big.Rat) *big.Rat {
	b := bound(n.Minimum, n.Above, 1)
	if b == nil {
		return nil
	}
	v := multiple(b, step, true)
	if n.Above != nil && v.Cmp(n.Above.Rat) <= 0 {
		v.Add(v, step)
	}
	return v
}

func highest(n *node, step *big.Rat) *big.Rat {
	b := bound(n.Maximum, n.Below, -1)
	if b == nil {
		return nil
	}
	v := multiple(b, step, false)
	if n.Below != nil && v.Cmp(n.Below.Rat) >= 0 {
		v.Sub(v, step)
	}
	return v
}

// multiple rounds v to a multiple of step, up or down.
func multiple(v, step *big.Rat, up bool) *big.Rat {
	q := new(big.Rat).Quo(v, step)
	n, rest := new(big.Int).DivMod(q.Num(), q.Denom(), new(big.Int)) // rounds down
	if up && rest.Sign() != 0 {
		n.Add(n, big.NewInt(1))
	}
	return new(big.Rat).Mul(new(big.Rat).SetInt(n), step)
}

// appendNumber appends a number as encoding/json would write it, and whole ones in full.
func appendNumber(dst []byte, v *big.Rat) []byte {
	if v.IsInt() {
		return v.Num().Append(dst, 10)
	}
	f, _ := v.Float64()
	return strconv.AppendFloat(dst, f, 'g', -1, 64)
}
