-- The protocol of models/examples/core.py with the order of brokers forgotten: any eligible broker is elected.
const N: 5; MINISR: 2; MASKS: 31;
type Broker: scalarset(N); Mask: 0..MASKS;
Set: array[Broker] of boolean;
var rep,isr,add,rem,unf,pisr,lead: Set; pv: boolean;  -- lead: the leader alone, if there is one
function card(s:Set): 0..N; var c:0..N; begin c:=0; for b:Broker do if s[b] then c:=c+1; end; end; return c; end;
-- The set of a mask depends on the order in which brokers are gone through; all masks together stand for all sets.
function bit(m:Mask; b:Broker): boolean; var x:Mask; begin x:=m; for i:Broker do if i=b then return x%2=1; end; x:=x/2; end; return false; end;
-- Whether `pick` may be elected of a set; of the empty set each pick elects nobody.
function may(s:Set; pick:Broker): boolean; begin return s[pick] | (forall b:Broker do !s[b] end); end;
function led(): boolean; begin return exists b:Broker do lead[b] end; end;
procedure elect(s:Set; pick:Broker); begin for b:Broker do lead[b]:= s[pick] & b=pick; end; end;
function leads_in(s:Set): boolean; begin return exists b:Broker do lead[b] & s[b] end; end;
procedure clearp(); begin pv:=false; for b:Broker do pisr[b]:=false; end; end;
startstate
 var c:0..N;
begin
 c:=0;
 for b:Broker do
  rep[b]:=c<3; isr[b]:=c<3; add[b]:=false; rem[b]:=false; unf[b]:=true; pisr[b]:=false;
  lead[b]:=c=0; c:=c+1;
 end;
 pv:=false;
end;
ruleset b:Broker do
rule "unfence" !unf[b] ==> begin
 if !led() & isr[b] then lead[b]:=true; end; unf[b]:=true;
end; end;
ruleset b:Broker; pick:Broker do
rule "fence" unf[b] & (lead[b] | pick=b) ==>
 var c:Set; var ch:boolean;
begin
 for x:Broker do c[x]:= isr[x] & unf[x] & x!=b; end;
 if !lead[b] | may(c,pick) then
  ch:=false;
  if isr[b] & card(isr)>1 then isr[b]:=false; ch:=true; end;
  if lead[b] then elect(c,pick); end;
  unf[b]:=false;
  if ch then clearp(); end;
 end;
end; end;
ruleset m:Mask do
rule "propose" !pv & (exists b:Broker do lead[b] & bit(m,b) end) & (exists b:Broker do bit(m,b)!=isr[b] end) & (forall b:Broker do bit(m,b) -> (rep[b]&unf[b]) end) ==>
begin pv:=true; for b:Broker do pisr[b]:=bit(m,b); end; end;
end;
ruleset m:Mask; pick:Broker do
rule "reassign" (forall b:Broker do !add[b] & !rem[b] end) & (exists b:Broker do bit(m,b)!=rep[b] end) & (m!=0) ==>
 var c,f:Set; var k:0..N; var anyadd:boolean;
begin
 k:=0; anyadd:=false;
 for b:Broker do if bit(m,b) then k:=k+1; if !rep[b] then anyadd:=true; end; end; end;
 if k>=MINISR then
 for b:Broker do f[b]:=isr[b] & bit(m,b); c[b]:=f[b] & unf[b]; end;
 if !anyadd & card(f)>=MINISR then
   if !led() | leads_in(f) | may(c,pick) then
    if led() & !leads_in(f) then elect(c,pick); end;
    for b:Broker do rep[b]:=bit(m,b); isr[b]:=f[b]; end; clearp();
   end;
 else
   for b:Broker do add[b]:=bit(m,b) & !rep[b]; rem[b]:=rep[b] & !bit(m,b); end;
   for b:Broker do rep[b]:=rep[b]|add[b]; end; clearp();
 end;
 end;
end; end;
ruleset pick:Broker do
rule "alter" pv ==>
 var f:Set; var ok,elig,re:boolean;
begin
 elig:=true; re:=false; ok:=true;
 for b:Broker do if pisr[b]&!unf[b] then elig:=false; end; if add[b]|rem[b] then re:=true; end; f[b]:=pisr[b]&!rem[b]; if add[b]&!f[b] then ok:=false; end; end;
 if !elig then clearp();
 elsif re & ok & card(f)>=MINISR then
  if leads_in(f) | may(f,pick) then
   if !leads_in(f) then elect(f,pick); end;
   for b:Broker do rep[b]:=rep[b]&!rem[b]; isr[b]:=f[b]; end;
   for b:Broker do add[b]:=false; rem[b]:=false; end; clearp();
  end;
 else for b:Broker do isr[b]:=pisr[b]; end; clearp(); end;
end;
rule "cancel" (exists b:Broker do add[b]|rem[b] end) ==>
 var n,c:Set;
begin
 for b:Broker do n[b]:=isr[b]&!add[b]; c[b]:=n[b]&unf[b]; end;
 if card(n)>=MINISR then
  if !led() | leads_in(n) | may(c,pick) then
   if led() & !leads_in(n) then elect(c,pick); end;
   for b:Broker do rep[b]:=rep[b]&!add[b]; isr[b]:=n[b]; end;
   for b:Broker do add[b]:=false; rem[b]:=false; end; clearp();
  end;
 end;
end; end;
invariant "isr in rep" forall b:Broker do isr[b] -> rep[b] end;
