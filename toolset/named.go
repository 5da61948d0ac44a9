package toolset

import "context"

// Named gives a toolset another name, by which errors call it.
func Named[D any](name string, set Toolset[D]) Toolset[D] {
	if set == nil {
		return broken[D](name, "it is nil")
	}
	if s, ok := set.(*static[D]); ok {
		c := *s
		c.name = name
		return &c
	}
	return &named[D]{name, set}
}

type named[D any] struct {
	name string
	set  Toolset[D]
}

func (n *named[D]) Name() string { return n.name }

func (n *named[D]) Open(ctx context.Context, run *RunContext[D]) (Instance[D], error) {
	return n.set.Open(ctx, run)
}

// Check reports definition errors; agent.New calls it.
func (n *named[D]) Check() error { return check(n.set) }

// check reports what is wrong with a toolset's definition, as far as that can be told before a run. Open reports the
// same, so that a toolset which is hidden behind a foreign wrapper is found out as well, only later.
func check[D any](set Toolset[D]) error {
	if checker, ok := set.(interface{ Check() error }); ok {
		return checker.Check()
	}
	return nil
}
