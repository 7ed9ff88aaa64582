package awsemu

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"

	"github.com/karpenter-go/karpenter/internal/awsemu/wire"
)

// replays remembers the answers of calls with a client token: the same token
// with the same parameters gets the same answer, with others an error.
type replays struct {
	mu      sync.Mutex // guards answers
	answers map[string]replay
}

// A replay is what a token stands for.
type replay struct {
	digest [sha256.Size]byte
	body   any
}

// reset forgets all tokens.
func (p *replays) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answers = nil
}

// once does a call, or repeats its answer. Calls with a token are done one
// after another, so two at the same time are one too. Refused calls leave no
// trace: the client may correct them under the same token.
func (p *replays) once(r *request, do func() (any, *wire.Error)) (any, *wire.Error) {
	token := r.form.String("ClientToken")
	if token == "" {
		return do()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	key := r.action + "/" + token
	digest := digestOf(r)
	if old, ok := p.answers[key]; ok {
		if old.digest != digest {
			return nil, wire.Errorf("IdempotentParameterMismatch",
				"The client token %s was used before with other parameters.", token)
		}
		return old.body, nil
	}
	body, err := do()
	if err != nil {
		return nil, err
	}
	if p.answers == nil {
		p.answers = map[string]replay{}
	}
	p.answers[key] = replay{digest: digest, body: body}
	return body, nil
}

// digestOf sums up all parameters of a request.
func digestOf(r *request) [sha256.Size]byte {
	keys := make([]string, 0, len(r.values))
	for k := range r.values {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	h := sha256.New()
	for _, k := range keys {
		fmt.Fprintf(h, "%q=%q\n", k, r.values[k])
	}
	return [sha256.Size]byte(h.Sum(nil))
}
