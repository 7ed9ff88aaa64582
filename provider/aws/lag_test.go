package aws_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/internal/awsemu/steer"
	"context"
)

func TestLag(t *testing.T) {
	const claims = 10
	w := newWorld(t)
	first := w.start(t)
	if err := w.steer.SetLag(t.Context(), steer.Lag{For: steer.Duration(8 * time.Second)}); err != nil {
		t.Fatal(err)
	}
	if err := w.steer.Hang(t.Context(), steer.Hang{Op: "CreateFleet", For: forever, After: true}); err != nil {
		t.Fatal(err)
	}
	for n := range claims {
		w.store(t, w.claim(fmt.Sprintf("claim-%d", n)))
	}
	ctx, crash := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	create := func(ctx context.Context, p cloud.Provider, from, to int, note bool) {
		for n := from; n < to; n++ {
			claim := w.load(t, fmt.Sprintf("claim-%d", n))
			wg.Go(func() {
				i, err := p.Create(ctx, claim)
				if err != nil {
					t.Log(err)
					return
				}
				if note {
					w.launched(t, claim.Name, i)
				}
			})
		}
	}
	create(ctx, first, 0, claims, false)
	for len(w.alive(t)) < claims {
	}
	crash()
	wg.Wait()
	second := w.start(t)
	create(t.Context(), second, 0, 6, true)
	wg.Wait()
	t.Log(len(w.alive(t)))
	third := w.start(t)
	create(t.Context(), third, 6, claims, true)
	wg.Wait()
	t.Log(len(w.alive(t)))
	for _, c := range w.calls(t, "CreateFleet") {
		t.Log(c.Status, c.Code, c.Params)
	}
}
