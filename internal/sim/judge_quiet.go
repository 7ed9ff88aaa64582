package sim

import (
	"bytes"
	"cmp"
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
	// unready has the names of the nodes that are not ready. repaired is when the last of them became ready or was removed.
	unready  map[string]bool
	repaired time.Time
	// calls counts the calls of each replica since minute began, by object for writes to the API server, and by operation for the cloud.
	calls  map[string]int
	minute time.Time
	// made counts all calls of the cloud by operation.
	made map[string]int

	mu     sync.Mutex // guards errors, which goroutines of the operator add to
	errors []string
}

func newQuietRules(j *judge) quietRules {
	return quietRules{judge: j, unready: map[string]bool{}, calls: map[string]int{}, made: map[string]int{}}
}

// The most calls of a replica within a minute: writes of one object, writes of one that does not exist, and calls of one operation of the
// cloud.
const (
	mostWrites  = 60
	mostMissing = 20
	mostCalls   = 600
)

// count counts a call of a replica, and checks that it does not repeat the call too often.
func (q *quietRules) count(who, call string, most int) {
	if now := time.Now(); now.Sub(q.minute) >= time.Minute {
		q.minute = now
		clear(q.calls)
	}
	key := who + " " + call
	if q.calls[key]++; q.calls[key] == most+1 {
		q.violate(ruleCallRate, "%s calls %s more than %d times within a minute", who, call, most)
	}
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

// written reports a write of a replica if the last event was so long ago that nothing may change any more. A node that is not
// ready may be replaced half an hour after its last event, and other nodes are evaluated again after that.
func (q *quietRules) written(before, after client.Object) {
	q.follow(before, after)
	if q.writer() == "" || after == nil || q.undisturbed() <= settled || q.neverSettles() {
		return
	}
	if len(q.unready) > 0 || time.Since(q.repaired) <= settled {
		return
	}
	switch after.(type) {
	case *corev1.Event, *corev1.ConfigMap:
		return
	}
	if !lease(after) {
		q.violate(ruleQuiet, "%s writes %T %s, %s after the last event", q.writer(), after, after.GetName(), q.undisturbed().Round(time.Second))
	}
}

// follow records which nodes are not ready.
func (q *quietRules) follow(before, after client.Object) {
	if node, ok := after.(*corev1.Node); ok && !nodeReady(node) {
		q.unready[node.Name] = true
		return
	}
	if node, ok := cmp.Or(after, before).(*corev1.Node); ok && q.unready[node.Name] {
		delete(q.unready, node.Name)
		q.repaired = time.Now()
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
