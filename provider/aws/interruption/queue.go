package interruption

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"k8s.io/utils/clock"

	"github.com/karpenter-go/karpenter/internal/parallel"
	"github.com/karpenter-go/karpenter/internal/timeout"
)

// QueueAPI is the part of SQS that receives and deletes messages.
type QueueAPI interface {
	GetQueueUrl(context.Context, *sqs.GetQueueUrlInput, ...func(*sqs.Options)) (*sqs.GetQueueUrlOutput, error)
	ReceiveMessage(context.Context, *sqs.ReceiveMessageInput, ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error)
	DeleteMessageBatch(context.Context, *sqs.DeleteMessageBatchInput, ...func(*sqs.Options)) (*sqs.DeleteMessageBatchOutput, error)
}

var _ QueueAPI = (*sqs.Client)(nil)

const (
	// perCall is the largest number of messages that SQS returns or deletes in one call.
	perCall = 10
	// patience is the maximum time that a call waits for the first message, in seconds.
	patience = 20
	// answerTime is the maximum time for a call beside the wait for messages. A spot instance ends two minutes after its notice, so a
	// call without an answer must not delay the next one for long.
	answerTime = 10 * time.Second
	// hide is the visibility timeout in seconds. A message that is not deleted within this time is delivered again.
	hide = 20
	// receivers is the number of concurrent calls after a first call that returned the maximum
	// number of messages, and the maximum number of concurrent calls that delete messages.
	receivers = 8
	// round is the approximate number of messages that are handled together. Handling them takes much less time than
	// hide.
	round = 2000
)

// A queue is the SQS queue to which EventBridge sends events.
type queue struct {
	api   QueueAPI
	name  string
	clock clock.Clock

	mu  sync.Mutex // guards url
	url string
}

// locate returns the URL of the queue. It is cached once it is known.
func (q *queue) locate(ctx context.Context) (string, error) {
	q.mu.Lock()
	known := q.url
	q.mu.Unlock()
	if known != "" {
		return known, nil
	}
	ctx, cancel := timeout.Context(ctx, q.clock, answerTime)
	defer cancel()
	out, err := q.api.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: aws.String(q.name)})
	if err != nil {
		return "", fmt.Errorf("find queue %s: %w", q.name, err)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.url = aws.ToString(out.QueueUrl)
	return q.url, nil
}

// forget removes the cached URL, because the queue may have been deleted and created again.
func (q *queue) forget() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.url = ""
}

// receive waits for messages. If the first call returns the maximum number, receivers make further calls
// concurrently. Each of them stops when a call fails or returns no message, or at least round messages (2000) are
// received in all.
func (q *queue) receive(ctx context.Context) ([]sqstypes.Message, error) {
	url, err := q.locate(ctx)
	if err != nil {
		return nil, err
	}
	first, err := q.some(ctx, url, patience)
	if err != nil {
		q.forget()
		return nil, err
	}
	if len(first) < perCall {
		return first, nil
	}
	var mu sync.Mutex // guards all
	all := first
	errs := parallel.Do(ctx, receivers, 0, func(int) error {
		for {
			more, err := q.some(ctx, url, 0)
			mu.Lock()
			all = append(all, more...)
			enough := len(all) >= round
			mu.Unlock()
			if err != nil || len(more) == 0 || enough {
				return err
			}
		}
	})
	if err := cmp.Or(errs...); err != nil && len(all) == 0 {
		return nil, err
	}
	return all, nil // messages that could not be received now are received in the next round
}

// some receives at most perCall messages. It waits for the first one for the given number of seconds.
func (q *queue) some(ctx context.Context, url string, wait int32) ([]sqstypes.Message, error) {
	ctx, cancel := timeout.Context(ctx, q.clock, time.Duration(wait)*time.Second+answerTime)
	defer cancel()
	out, err := q.api.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl: aws.String(url), MaxNumberOfMessages: perCall, VisibilityTimeout: hide, WaitTimeSeconds: wait,
		MessageAttributeNames: []string{"All"},
		MessageSystemAttributeNames: []sqstypes.MessageSystemAttributeName{
			sqstypes.MessageSystemAttributeNameSentTimestamp,
		},
	})
	if err != nil {
		return nil, fmt.Errorf("receive from queue %s: %w", q.name, err)
	}
	return out.Messages, nil
}

// remove deletes messages and returns how many were deleted.
func (q *queue) remove(ctx context.Context, done []sqstypes.Message) (int, error) {
	url, err := q.locate(ctx)
	if err != nil {
		return 0, err
	}
	removed := make([]int, (len(done)+perCall-1)/perCall)
	errs := parallel.Do(ctx, len(removed), receivers, func(n int) error {
		part := done[n*perCall : min((n+1)*perCall, len(done))]
		in := &sqs.DeleteMessageBatchInput{QueueUrl: aws.String(url)}
		for i, m := range part {
			in.Entries = append(in.Entries, sqstypes.DeleteMessageBatchRequestEntry{
				Id: aws.String(strconv.Itoa(i)), ReceiptHandle: m.ReceiptHandle,
			})
		}
		limited, cancel := timeout.Context(ctx, q.clock, answerTime)
		defer cancel()
		out, err := q.api.DeleteMessageBatch(limited, in)
		if err != nil {
			return fmt.Errorf("delete from queue %s: %w", q.name, err)
		}
		removed[n] = len(part) - len(out.Failed)
		return nil
	})
	sum := 0
	for _, n := range removed {
		sum += n
	}
	return sum, cmp.Or(errs...)
}
