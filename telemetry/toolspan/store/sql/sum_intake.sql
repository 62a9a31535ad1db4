-- The spans that ever came, by what became of them.
select reason, sum(spans)
from intake
group by reason
order by reason;
