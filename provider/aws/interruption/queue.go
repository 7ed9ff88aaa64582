package interruption

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/karpenter-go/karpenter/internal/parallel"
)

// QueueAPI is the part of SQS that is needed.
type QueueAPI interface {
	GetQueueUrl(context.Context, *sqs.GetQueueUrlInput, ...func(*sqs.Options)) (*sqs.GetQueueUrlOutput, error)
	ReceiveMessage(context.Context, *sqs.ReceiveMessageInput, ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error)
	DeleteMessageBatch(context.Context, *sqs.DeleteMessageBatchInput, ...func(*sqs.Options)) (*sqs.DeleteMessageBatchOutput, error)
}

var _ QueueAPI = (*sqs.Client)(nil)

const (
	// perCall is the most that SQS hands out, or deletes, in one call.
	perCall = 10
	// patience is how long a receive waits for a first message, in seconds.
	patience = 20
	// hide is how long a received message stays hidden, in seconds. What is not deleted by then comes again.
	hide = 20
	// receivers is how many receive side by side once there are messages.
	receivers = 8
	// round is about how many messages are dealt with at once: what takes well under the time that they stay hidden.
	round = 2000
)

// A queue is the queue that EventBridge fills.
type queue struct {
	api  QueueAPI
	name string

	mu  sync.Mutex // guards url
	url string
}

// locate returns the queue's URL. It is asked for until it is known.
func (q *queue) locate(ctx context.Context) (string, error) {
	q.mu.Lock()
	known := q.url
	q.mu.Unlock()
	if known != "" {
		return known, nil
	}
	out, err := q.api.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: aws.String(q.name)})
	if err != nil {
		return "", fmt.Errorf("find queue %s: %w", q.name, err)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.url = aws.ToString(out.QueueUrl)
	return q.url, nil
}

// forget makes the next call look for the queue again: it may have been made anew.
func (q *queue) forget() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.url = ""
}

// receive waits for messages. Once there are some it takes what else is there, up to a round.
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
	return all, nil // what could not be received now comes with the next round
}

func (q *queue) some(ctx context.Context, url string, wait int32) ([]sqstypes.Message, error) {
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

// remove deletes messages and returns how many are gone.
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
		out, err := q.api.DeleteMessageBatch(ctx, in)
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
