// SPDX-License-Identifier: Apache-2.0

package sessiontest_test

import (
	"context"
	"fmt"

	"github.com/ponte-go/ponte/agent/session"
)

func ownerFaults() []broken {
	return []broken{
		{"it forgets the tenant", []string{ruleOwner}, func(f *fault) {
			f.create = func(ctx context.Context, n session.New) (session.Info, error) {
				n.Tenant = ""
				return f.Memory.Create(ctx, n)
			}
		}},
		{"its forks belong to nobody", []string{ruleOwner}, func(f *fault) {
			f.fork = func(ctx context.Context, id string, at int64, n session.New) (session.Info, error) {
				info, err := f.Memory.Fork(ctx, id, at, n)
				info.Tenant, info.Owner = "", ""
				return info, err
			}
		}},
		{"it lists the sessions of all owners", []string{ruleOwned}, func(f *fault) {
			f.list = func(ctx context.Context, q session.Query) (session.Page, error) {
				q.Owner = nil
				return f.Memory.List(ctx, q)
			}
		}},
		{"an owner has sessions in every tenant", []string{ruleOwned}, func(f *fault) {
			f.list = func(ctx context.Context, q session.Query) (session.Page, error) {
				if q.Owner != nil {
					q.Tenant = ""
				}
				return f.Memory.List(ctx, q)
			}
		}},
		{"it has no limit", []string{ruleLimit}, func(f *fault) {
			f.create = func(ctx context.Context, n session.New) (session.Info, error) {
				n.Limit = 0
				return f.Memory.Create(ctx, n)
			}
		}},
		{"its limit counts first and creates later", []string{ruleLimit}, func(f *fault) {
			f.create = func(ctx context.Context, n session.New) (session.Info, error) {
				page, err := f.Memory.List(ctx, session.Query{Owner: &n.Owner, Tenant: n.Tenant, Conversations: true})
				if err == nil && n.Limit > 0 && len(page.Sessions) > n.Limit {
					err = session.ErrTooMany
				}
				if err != nil {
					return session.Info{}, err
				}
				n.Limit = 0
				return f.Memory.Create(ctx, n)
			}
		}},
		{"it takes no long texts", []string{ruleLong}, func(f *fault) {
			f.create = func(ctx context.Context, n session.New) (session.Info, error) {
				if len(n.Dir) > 2704 {
					return session.Info{}, fmt.Errorf("index row size %d exceeds maximum 2704", len(n.Dir))
				}
				return f.Memory.Create(ctx, n)
			}
		}},
	}
}
