// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"context"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/app/internal/term/plain"
)

// permission answers a question by asking the person. One question is asked at a time.
func (t *talk) permission(ctx context.Context, r *acpclient.PermissionRequest) (acp.PermissionOptionID, error) {
	t.asking.Lock()
	defer t.asking.Unlock()
	if ctx.Err() != nil {
		return "", nil
	}
	t.catchUp()
	allow := r.Option(acp.PermissionOptionKindAllowOnce, acp.PermissionOptionKindAllowAlways)
	reject := r.Option(acp.PermissionOptionKindRejectOnce, acp.PermissionOptionKindRejectAlways)
	switch p, ok := t.out.(*plain.Printer); {
	case t.config.AllowAll && allow == "":
		t.out.Asked(r, "", "-yes: there is no option that allows this.")
		t.refuse()
		return reject, nil
	case t.config.AllowAll:
		t.out.Asked(r, string(allow), "-yes: "+name(r, allow))
		return allow, nil
	case !t.config.Person || !ok || len(r.Options) == 0:
		t.out.Asked(r, string(reject), "Rejected: no one can be asked because standard input is not a terminal. Use -yes to allow everything.")
		t.refuse()
		return reject, nil
	default:
		return t.ask(ctx, p, r), nil
	}
}

func (t *talk) refuse() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refused = true
}

func name(r *acpclient.PermissionRequest, id acp.PermissionOptionID) string {
	for i := range r.Options {
		if r.Options[i].OptionID == id {
			return r.Options[i].Name
		}
	}
	return ""
}

// ask shows everything that the question is about, and reads the answer. Earlier input lacks the
// question's code.
func (t *talk) ask(ctx context.Context, p *plain.Printer, r *acpclient.PermissionRequest) acp.PermissionOptionID {
	code := plain.Code()
	p.Preview(r)
	for {
		p.Ask(r.Options, code)
		select {
		case line, ok := <-t.lines.read():
			if !ok {
				p.Note("Not allowed: the input has ended.")
				t.refuse()
				return ""
			}
			p.Answered()
			n := plain.Answer(line.text, code, len(r.Options))
			if n < 0 {
				p.Note("That is not an answer.")
				continue
			}
			if k := r.Options[n].Kind; k != acp.PermissionOptionKindAllowOnce && k != acp.PermissionOptionKindAllowAlways {
				t.refuse()
			}
			return r.Options[n].OptionID
		case <-ctx.Done():
			p.Note("The question was withdrawn.")
			return ""
		}
	}
}
