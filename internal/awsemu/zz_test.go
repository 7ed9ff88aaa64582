package awsemu
import ("testing";"net/http";"net";"context";"fmt";"net/http/httptrace"
"github.com/aws/aws-sdk-go-v2/service/ec2"
"github.com/aws/aws-sdk-go-v2/aws")
type dc struct{net.Conn}
func (d dc) Write(p []byte) (int,error) { n,err:=d.Conn.Write(p); fmt.Println("WRITE", len(p), n, err, string(p[max(0,len(p)-40):])); return n,err}
func TestZZ(t *testing.T){
 l:=newLab(t)
 hc:=&http.Client{Transport:&http.Transport{DialContext:func(ctx context.Context,n,a string)(net.Conn,error){c,err:=(&net.Dialer{}).DialContext(ctx,n,a); if err!=nil{return nil,err}; return dc{c},nil}}}
 ctx:=httptrace.WithClientTrace(bg(), &httptrace.ClientTrace{WroteRequest: func(i httptrace.WroteRequestInfo){fmt.Println("WROTE",i.Err)}})
	pages := ec2.NewDescribeInstanceTypesPaginator(l.ec2, &ec2.DescribeInstanceTypesInput{ MaxResults: aws.Int32(100)})
	for pages.HasMorePages() {
	 _,err:=pages.NextPage(ctx, func(o *ec2.Options){o.HTTPClient=hc})
	 if err!=nil {t.Fatal(err)}
	}
}
