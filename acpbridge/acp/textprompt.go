// SPDX-License-Identifier: Apache-2.0

package acp

const (
	promptHead = `{"sessionId":`
	promptBody = `,"prompt":[{"type":"text","text":`
	promptTail = `}]}`
)

// textPrompt appends a prompt that is one plain text, as the table would, and reports whether p is
// one.
func (e *encoder) textPrompt(p *PromptRequest) bool {
	if p.Meta != nil || len(p.Prompt) != 1 {
		return false
	}
	block := &p.Prompt[0]
	t := block.Text
	if t == nil || t.Annotations != nil || t.Meta != nil || !block.onlyText() {
		return false
	}
	e.b = append(e.b, promptHead...)
	e.string(string(p.SessionID))
	e.b = append(e.b, promptBody...)
	e.string(t.Text)
	e.b = append(e.b, promptTail...)
	return true
}

// textPrompt decodes what textPrompt of the encoder writes, and reports whether the data is that.
// If not, it leaves p and the decoder as they were.
func (d *decoder) textPrompt(p *PromptRequest) bool {
	if !d.literal(promptHead) || d.next() != '"' {
		d.pos = 0
		return false
	}
	session := d.string()
	if !d.literal(promptBody) || d.next() != '"' {
		d.pos = 0
		return false
	}
	text := d.string()
	if !d.literal(promptTail) || d.pos != len(d.data) {
		d.pos = 0
		return false
	}
	one := &struct {
		blocks [1]ContentBlock
		text   TextContent
	}{text: TextContent{Text: text}}
	one.blocks[0].Text = &one.text
	*p = PromptRequest{SessionID: SessionID(session), Prompt: one.blocks[:]}
	return true
}

// literal passes over the text if it is at hand.
func (d *decoder) literal(text string) bool {
	end := d.pos + len(text)
	if end > len(d.data) || string(d.data[d.pos:end]) != text {
		return false
	}
	d.pos = end
	return true
}
