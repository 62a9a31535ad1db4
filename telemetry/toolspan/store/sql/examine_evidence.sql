-- The most frequent evidence of failures that name no class.
select evidence, count(*)
from calls
where outcome = 'error' and class = 'unclassified'
group by evidence
order by count(*) desc, evidence
limit 5;
