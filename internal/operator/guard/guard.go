// Package guard decides which users may read the metrics port and the dashboard. A TokenReview by the API server returns
// the user of a bearer token. A SubjectAccessReview returns whether this user may get the path. So RBAC rules with
// nonResourceURLs grant access.
//
// An accepted combination of token, method and path is stored in memory for a minute. After a restart it is reviewed again.
package guard

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	// life is the time for which an accepted request is accepted again without a review.
	life = time.Minute
	// most is the maximum number of accepted requests that are stored.
	most = 1000
	// perSecond and burst limit the rate of TokenReviews, and separately that of SubjectAccessReviews, so that requests
	// with wrong tokens do not load the API server.
	perSecond, burst = 5, 20
)

// A Guard lets only those requests pass that the API server allows. It is safe for concurrent use.
type Guard struct {
	tokens  authenticationclient.TokenReviewInterface
	reviews authorizationclient.SubjectAccessReviewInterface
	clock   clock.PassiveClock
	// Refuse writes the response to a request that is not allowed. It is set before the first request.
	Refuse func(w http.ResponseWriter, status int)
	// Prefix precedes the path of a request in RBAC rules. It is set before the first request.
	Prefix string

	mu       sync.Mutex // guards accepted
	accepted map[request]time.Time
}

// A request is a path and method with the hash of a token.
type request struct {
	token      [sha256.Size]byte
	verb, path string
}

// New returns a Guard with clients of its own, so that its reviews do not delay other requests.
func New(config *rest.Config, httpClient *http.Client, c clock.PassiveClock) (*Guard, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst, config.RateLimiter = perSecond, burst, nil
	tokens, err := authenticationclient.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("make client of token reviews: %w", err)
	}
	reviews, err := authorizationclient.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("make client of access reviews: %w", err)
	}
	return &Guard{tokens: tokens.TokenReviews(), reviews: reviews.SubjectAccessReviews(), clock: c, accepted: map[request]time.Time{}, Refuse: refuse}, nil
}

// refuse writes the text of the status as the response.
func refuse(w http.ResponseWriter, status int) { http.Error(w, http.StatusText(status), status) }

// Protect returns a handler that calls next for allowed requests. Other requests get one of these statuses: 401 if there is
// no token or the API server does not accept it, 403 if the user may not get the path, and 503 if the API server cannot
// review the request.
func (g *Guard) Protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, err := g.check(r)
		if err != nil {
			log.Log.WithName("guard").Error(err, "request to protected port not checked", "path", r.URL.Path)
		}
		if status != http.StatusOK {
			g.Refuse(w, status)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// check returns the status for a request. The error is the reason why the request could not be checked.
func (g *Guard) check(r *http.Request) (int, error) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return http.StatusUnauthorized, nil
	}
	key := request{token: sha256.Sum256([]byte(token)), verb: strings.ToLower(r.Method), path: g.Prefix + r.URL.Path}
	if g.known(key) {
		return http.StatusOK, nil
	}
	status, err := g.review(r.Context(), token, key)
	if status == http.StatusOK {
		g.remember(key)
	}
	return status, err
}

// review sends the reviews to the API server and returns the status for the request.
func (g *Guard) review(ctx context.Context, token string, r request) (int, error) {
	who, err := g.tokens.Create(ctx, &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
	if err != nil {
		return http.StatusServiceUnavailable, fmt.Errorf("review token: %w", err)
	}
	if !who.Status.Authenticated {
		return http.StatusUnauthorized, nil
	}
	user := who.Status.User
	extra := map[string]authorizationv1.ExtraValue{}
	for k, v := range user.Extra {
		extra[k] = authorizationv1.ExtraValue(v)
	}
	may, err := g.reviews.Create(ctx, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra,
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: r.path, Verb: r.verb},
	}}, metav1.CreateOptions{})
	if err != nil {
		return http.StatusServiceUnavailable, fmt.Errorf("review access: %w", err)
	}
	if !may.Status.Allowed || may.Status.Denied {
		return http.StatusForbidden, nil
	}
	return http.StatusOK, nil
}

func (g *Guard) known(r request) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	until, ok := g.accepted[r]
	return ok && g.clock.Now().Before(until)
}

// remember stores an accepted request. If there are too many, it first removes all of them, which only causes more reviews.
func (g *Guard) remember(r request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.accepted) >= most {
		clear(g.accepted)
	}
	g.accepted[r] = g.clock.Now().Add(life)
}
