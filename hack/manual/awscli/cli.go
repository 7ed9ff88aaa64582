package awscli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/sts"
)

// services are the SDK's clients, by the name of the service in the command line.
var services = map[string]func(aws.Config) any{
	"autoscaling":    func(c aws.Config) any { return autoscaling.NewFromConfig(c) },
	"cloudformation": func(c aws.Config) any { return cloudformation.NewFromConfig(c) },
	"ec2":            func(c aws.Config) any { return ec2.NewFromConfig(c) },
	"eks":            func(c aws.Config) any { return eks.NewFromConfig(c) },
	"iam":            func(c aws.Config) any { return iam.NewFromConfig(c) },
	"sqs":            func(c aws.Config) any { return sqs.NewFromConfig(c) },
	"ssm":            func(c aws.Config) any { return ssm.NewFromConfig(c) },
	"sts":            func(c aws.Config) any { return sts.NewFromConfig(c) },
}

// exitUsage and exitFailed are the exit codes of the AWS CLI for wrong usage and for a failed command.
const (
	exitUsage  = 252
	exitFailed = 254
)

// usage is an error in the syntax of a command.
type usage struct{ error }

func wrong(format string, args ...any) error { return usage{fmt.Errorf(format, args...)} }

// Main is the program.
func Main() {
	err := run(context.Background(), os.Args[1:], os.Stdout)
	switch {
	case err == nil:
		return
	case errors.As(err, &usage{}):
		fmt.Fprintln(os.Stderr, "aws:", err)
		os.Exit(exitUsage)
	}
	fmt.Fprintln(os.Stderr, "aws:", err)
	os.Exit(exitFailed)
}

// run executes one command.
func run(ctx context.Context, args []string, out io.Writer) error {
	options, words, err := parse(args)
	if err != nil {
		return err
	}
	if len(words) != 2 {
		return wrong("want a service and a command, have %v", words)
	}
	if os.Getenv("AWS_ENDPOINT_URL") == "" {
		return errors.New("AWS_ENDPOINT_URL is not set, and this stand-in calls no real account")
	}
	made, ok := services[words[0]]
	if !ok {
		return wrong("service %q: none that the stand-in knows; add it to services", words[0])
	}
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return fmt.Errorf("load configuration: %w", err)
	}
	client := made(cfg)
	if words[0] == "cloudformation" && words[1] == "deploy" {
		return deploy(ctx, client.(*cloudformation.Client), options, out)
	}
	show, err := shown(options)
	if err != nil {
		return err
	}
	answer, err := call(ctx, client, words[1], options)
	if err != nil {
		return err
	}
	return show.print(out, tree(answer, words[0] == "eks"))
}

// parse splits a command line into the words before the first option, and the options with their values. The values of
// an option end at the next option.
func parse(args []string) (options map[string][]string, words []string, err error) {
	options = map[string][]string{}
	name := ""
	for _, a := range args {
		option, ok := strings.CutPrefix(a, "--")
		switch {
		case ok && options[option] != nil:
			return nil, nil, wrong("--%s is given twice", option)
		case ok:
			name = option
			options[name] = []string{}
		case strings.HasPrefix(a, "-"):
			return nil, nil, wrong("unknown option %s", a)
		case name == "":
			words = append(words, a)
		default:
			options[name] = append(options[name], a)
		}
	}
	return options, words, nil
}

// call calls the SDK's operation for a command, with the input from its options.
func call(ctx context.Context, client any, command string, options map[string][]string) (any, error) {
	method := named(reflect.ValueOf(client), command)
	if !method.IsValid() || method.Type().NumIn() != 3 {
		return nil, wrong("%T has no operation %s", client, command)
	}
	input := reflect.New(method.Type().In(1).Elem())
	for name, values := range options {
		if err := fill(input.Elem(), name, values); err != nil {
			return nil, err
		}
	}
	results := method.Call([]reflect.Value{reflect.ValueOf(ctx), input})
	if err, ok := results[1].Interface().(error); ok {
		return nil, err
	}
	return results[0].Interface(), nil
}

// named returns the client's method for a command: CreateTags for create-tags.
func named(client reflect.Value, command string) reflect.Value {
	for i := range client.NumMethod() {
		if same(client.Type().Method(i).Name, command) && command == strings.ToLower(command) {
			return client.Method(i)
		}
	}
	return reflect.Value{}
}

// same reports whether a name in the SDK corresponds to a name with dashes in the command line.
func same(name, dashed string) bool {
	return strings.EqualFold(name, strings.ReplaceAll(dashed, "-", ""))
}

// deploy creates a stack, like the command "cloudformation deploy" does for a stack that does not exist yet.
func deploy(ctx context.Context, client *cloudformation.Client, options map[string][]string, out io.Writer) error {
	for name := range options {
		if !slices.Contains([]string{"stack-name", "template-file", "capabilities", "parameter-overrides", "tags"}, name) {
			return wrong("cloudformation deploy has no option --%s that the stand-in knows", name)
		}
	}
	for _, name := range []string{"stack-name", "template-file"} {
		if len(options[name]) != 1 {
			return wrong("cloudformation deploy needs --%s with one value", name)
		}
	}
	template, err := os.ReadFile(options["template-file"][0])
	if err != nil {
		return usage{err}
	}
	parameters, err := parametersOf(options["parameter-overrides"])
	if err != nil {
		return err
	}
	_, err = client.CreateStack(ctx, &cloudformation.CreateStackInput{
		StackName: aws.String(options["stack-name"][0]), TemplateBody: aws.String(string(template)), Parameters: parameters,
		Capabilities: capabilitiesOf(options["capabilities"]),
	})
	if err != nil {
		return fmt.Errorf("create stack: %w", err)
	}
	_, err = fmt.Fprintf(out, "\nWaiting for changeset to be created..\nWaiting for stack create/update to complete\n"+
		"Successfully created/updated stack - %s\n", options["stack-name"][0])
	return err
}
