package awsemu

import (
	"context"
	"net/http"

	"github.com/karpenter-go/karpenter/internal/awsemu/wire"
)

// htmlPage is the body of a broken load balancer's response.
const htmlPage = "<html>\r\n<head><title>500 Internal Server Error</title></head>\r\n" +
	"<body>\r\n<center><h1>500 Internal Server Error</h1></center>\r\n</body>\r\n</html>\r\n"

// answer serves a request. It first applies throttling, hangs and injected errors, in this order,
// and then executes the operation. served is false if the client has disconnected.
func (e *Emulator) answer(ctx context.Context, r *request) (a answer, served bool) {
	s, ok := e.services[r.service]
	if !ok {
		return ec2Query{}.failure(r, wire.Errorf("InvalidAction", "The service %q is not emulated.", r.service)), true
	}
	if e.faults.throttled(r) {
		return s.protocol.failure(r, s.protocol.throttled()), true
	}
	hang := e.faults.hang(r)
	if !hang.After && !e.faults.wait(ctx, hang) {
		return answer{}, false
	}
	if f, ok := e.faults.failure(r); ok {
		if f.Code == "html" {
			return answer{
				status: http.StatusInternalServerError, code: f.Code,
				header: map[string]string{"Content-Type": "text/html"}, body: []byte(htmlPage),
			}, true
		}
		return s.protocol.failure(r, f.err()), true
	}
	a = e.do(s, r)
	if hang.After && a.code == "" && !e.faults.wait(ctx, hang) {
		return answer{}, false
	}
	return a, true
}

// do checks the permissions, calls the operation's handler and encodes the result.
func (e *Emulator) do(s service, r *request) answer {
	handle, ok := s.actions[r.action]
	if !ok {
		return s.protocol.failure(r, unknownAction(s, r))
	}
	if denied := e.authorize(r); denied != nil {
		return s.protocol.failure(r, denied)
	}
	body, failure := handle(r)
	if failure != nil {
		return s.protocol.failure(r, failure)
	}
	a, err := s.protocol.success(r, body)
	if err != nil {
		return s.protocol.failure(r, wire.Errorf("InternalFailure", "%v", err))
	}
	return a
}

// unknownAction returns the error for an operation that is not emulated.
func unknownAction(s service, r *request) *wire.Error {
	if _, ok := s.protocol.(awsJSON); ok {
		return wire.Errorf("UnknownOperationException", "The operation %s is not valid.", r.action)
	}
	return wire.Errorf("InvalidAction", "The action %s is not valid for this web service.", r.action)
}
