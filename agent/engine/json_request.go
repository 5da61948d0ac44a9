// SPDX-License-Identifier: Apache-2.0

package engine

import "github.com/ponte-go/ponte/agent/model"

// settingsJSON are settings with the values that their own JSON hides: a worker in another process needs them.
type settingsJSON model.Settings

type requestJSON struct {
	model.Request
	Settings *settingsJSON `json:"settings,omitempty"`
}

func requestOf(r *model.Request) *requestJSON {
	if r == nil {
		return nil
	}
	return &requestJSON{*r, (*settingsJSON)(r.Settings)}
}

func (f *requestJSON) request() *model.Request {
	if f == nil {
		return nil
	}
	f.Request.Settings = (*model.Settings)(f.Settings)
	return &f.Request
}

type optionsJSON struct {
	Options
	Settings *settingsJSON `json:"settings,omitempty"`
}

func optionsOf(o *Options) *optionsJSON {
	if o == nil {
		return nil
	}
	return &optionsJSON{*o, (*settingsJSON)(o.Settings)}
}

func (f *optionsJSON) options() *Options {
	if f == nil {
		return nil
	}
	f.Options.Settings = (*model.Settings)(f.Settings)
	return &f.Options
}

type offerJSON struct {
	Offer
	Settings *settingsJSON `json:"settings,omitempty"`
}

func offerOf(o *Offer) *offerJSON {
	if o == nil {
		return nil
	}
	return &offerJSON{*o, (*settingsJSON)(o.Settings)}
}

func (f *offerJSON) offer() *Offer {
	if f == nil {
		return nil
	}
	f.Offer.Settings = (*model.Settings)(f.Settings)
	return &f.Offer
}
