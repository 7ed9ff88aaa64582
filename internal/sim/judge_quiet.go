package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// quietRules are about writes without a cause, and about errors that indicate a defect.
type quietRules struct {
	*judge
	mu     sync.Mutex // guards errors, which goroutines of the operator add to
	errors []string
}

// look reports the errors that logged has found since the last call.
func (q *quietRules) look() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, e := range q.errors {
		q.violate(ruleNoPanic, "%s", e)
	}
	q.errors = nil
}

// written reports a write of a replica if the last event was so long ago that nothing may change any more.
func (q *quietRules) written(after client.Object) {
	if q.writer() == "" || after == nil || q.calm() <= settled || q.expires() {
		return
	}
	switch after.(type) {
	case *corev1.Event, *corev1.ConfigMap:
		return
	}
	if !lease(after) {
		q.violate(ruleQuiet, "%s writes %T %s, %s after the last event", q.writer(), after, after.GetName(), q.calm().Round(time.Second))
	}
}

func lease(o client.Object) bool { return o.GetObjectKind().GroupVersionKind().Kind == "Lease" }

// internalErrors are texts of log lines that indicate a defect.
var internalErrors = []string{"panic", "failed verification", "internal error:"}

// logged reads a line of a replica's log. It may be called from any goroutine.
func (q *quietRules) logged(who string, line []byte) {
	if !bytes.Contains(line, []byte(`"level":"ERROR"`)) {
		return
	}
	for _, text := range internalErrors {
		if bytes.Contains(line, []byte(text)) {
			var m map[string]any
			detail := string(line)
			if json.Unmarshal(line, &m) == nil {
				detail = fmt.Sprint(m["message"], ": ", m["error"])
			}
			q.mu.Lock()
			q.errors = append(q.errors, who+" logs "+detail)
			q.mu.Unlock()
			return
		}
	}
}
